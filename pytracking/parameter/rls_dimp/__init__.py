"""RLS-DiMP: the paper's settings, those of the released code, and variants beyond both."""
