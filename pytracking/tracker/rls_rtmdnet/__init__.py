"""RLS-RTMDNet: RT-MDNet whose last layers learn online by recursive least squares."""
