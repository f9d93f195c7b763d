"""Direct ptychography of 4D-STEM acquisitions in napari: the doors to the package ``sideband``, which does the work.

Nothing is imported here, so that napari starts as fast as without the plugin.
"""
