"""Without a cluster the Ray engine starts one and ends it; all else about Ray is in `on_ray`."""

import os

import pytest
import ray

from brittle._ray import map_on_ray, ray_cluster


@pytest.mark.filterwarnings("default")  # Ray starts processes and leaves sockets in its own way
def test_a_cluster_is_started_and_ended_where_there_is_none() -> None:
    assert not ray.is_initialized()
    with ray_cluster(None) as started:
        [(item, process, node)] = map_on_ray(started, os.getpid, [("a", ())], gpu=False, title=str)
        assert (item, node) == ("a", "")  # one node is this machine
        assert process != os.getpid()
    assert not ray.is_initialized()
