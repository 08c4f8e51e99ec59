"""Losses of RT-MDNet's training."""
import torch
from torch import Tensor
from torch.nn import functional


def binary_loss(target_scores: Tensor, background_scores: Tensor) -> Tensor:
    """Mean cross entropy of the logits (background, target) of target boxes (P, 2) and background boxes (N, 2)."""
    logits = torch.cat([target_scores, background_scores])
    classes = (torch.arange(len(logits), device=logits.device) < len(target_scores)).long()
    return functional.cross_entropy(logits, classes)


def instance_embedding_loss(scores_in_all_domains: Tensor, domain: int) -> Tensor:
    """Cross entropy that makes targets score highest in the branch of their own video, not in those of similar objects.

    Scores are the target logits (P, domains) of target boxes in all branches.
    """
    wanted = torch.full((len(scores_in_all_domains),), domain, dtype=torch.long, device=scores_in_all_domains.device)
    return functional.cross_entropy(scores_in_all_domains, wanted)
