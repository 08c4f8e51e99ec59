"""RLS-DiMP: the paper's settings, the released code's, and a variant beyond both."""
