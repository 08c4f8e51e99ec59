"""RT-MDNet's training step: one domain's boxes through the shared layers and that domain's branch."""
import torch
from torch import Tensor, nn

from ltr.losses.multi_domain import binary_loss, instance_embedding_loss


class MdnetActor(nn.Module):
    """Computes the loss of an example and statistics for the log.

    An example comes from :class:`ltr.data.mdnet_examples.MdnetExamples` or, if the output of frozen convolutions is
    cached, holds `domain`, `positive_features` (P, D) and `negative_features` (N, D).

    Args:
        hard_negatives: how many of the highest-scoring background boxes to learn from; None for all.
    """

    def __init__(self, network: nn.Module, *, embedding_weight: float = 0.1, hard_negatives: int | None = None) -> None:
        super().__init__()
        self.network = network
        self.embedding_weight, self.hard_negatives = embedding_weight, hard_negatives

    def forward(self, batch: dict) -> tuple[Tensor, dict[str, Tensor]]:
        domain = int(batch["domain"])
        positive, negative = self._features(batch)
        if self.hard_negatives is not None and self.hard_negatives < len(negative):
            negative = self._hardest(negative, domain)
        shared = self.network.layers.fc5(self.network.layers.fc4(torch.cat([positive, negative]).float()))
        branches = self.network.branches
        scores = branches[domain](shared)
        binary = binary_loss(scores[: len(positive)], scores[len(positive) :])
        embedding = instance_embedding_loss(self._scores_in_all_domains(shared[: len(positive)]), domain)
        loss = binary + self.embedding_weight * embedding
        predicted = scores[:, 1] > scores[:, 0]
        stats = {
            "loss": loss,
            "binary": binary,
            "embedding": embedding,
            "recall": predicted[: len(positive)].float().mean(),
            "rejection": (~predicted[len(positive) :]).float().mean(),
        }
        return loss, {name: value.detach() for name, value in stats.items()}

    def _features(self, batch: dict) -> tuple[Tensor, Tensor]:
        if "positive_features" in batch:
            return batch["positive_features"].squeeze(0), batch["negative_features"].squeeze(0)
        return scene_features(self.network, batch)

    def _scores_in_all_domains(self, shared: Tensor) -> Tensor:
        """Target logits (P, domains) of all branches at once, sharing one dropout mask."""
        dropout, _ = self.network.branches[0]
        weight = torch.stack([linear.weight[1] for _, linear in self.network.branches])  # (domains, hidden)
        bias = torch.stack([linear.bias[1] for _, linear in self.network.branches])
        return dropout(shared) @ weight.T + bias

    @torch.no_grad()
    def _hardest(self, negative: Tensor, domain: int) -> Tensor:
        was_training = self.network.training
        self.network.eval()
        scores = self.network.classify(negative.float(), domain)[:, 1]
        self.network.train(was_training)
        return negative[scores.topk(self.hard_negatives).indices]


def scene_features(network: nn.Module, example: dict) -> tuple[Tensor, Tensor]:
    """Features of an example's target boxes (P, D) and background boxes (N, D)."""
    positive, negative = [], []
    for scene, regions in zip(example["scenes"], example["regions"], strict=True):
        rois = torch.cat([regions.new_zeros(len(regions), 1), regions], dim=1)
        features = network.roi_features(network.feature_map(scene[None]), rois)
        positive.append(features[: example["positive"]])
        negative.append(features[example["positive"] :])
    return torch.cat(positive), torch.cat(negative)
