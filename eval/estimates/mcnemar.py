from eval.estimates.significance import mcnemar_p

__all__ = ["mcnemar_p"]
