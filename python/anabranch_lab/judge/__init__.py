"""What runs say of claims."""
