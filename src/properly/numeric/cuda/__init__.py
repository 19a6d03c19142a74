"""What needs PyTorch and Triton: imported on first use, and by no one who only lists modules."""
