"""Who calls, where memories live, and who may see and write them."""
