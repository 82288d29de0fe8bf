from eval.estimates.resampling import LEVEL, cluster_t_interval, standard_error, t_quantile

__all__ = ["LEVEL", "cluster_t_interval", "standard_error", "t_quantile"]
