from pytracking.features.net_wrappers import NetWithBackbone
from pytracking.utils import TrackerParams


def parameters():
    params = TrackerParams()
    params.use_gpu = True
    params.image_sample_size = 256
    params.search_area_scale = 5
    params.net = NetWithBackbone(net_path="dimp_mobile", use_gpu=params.use_gpu)
    return params
