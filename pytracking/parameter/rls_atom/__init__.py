"""RLS-ATOM."""
