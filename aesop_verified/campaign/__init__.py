"""Campaigns: many randomised flights of AESOP and of the paper's two baselines, under identical seeds and disturbances."""
