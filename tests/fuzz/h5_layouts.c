#include "tests/fuzz/h5_layouts.h"

#define DETECTOR "/entry/instrument/detector/"
#define SPECIFIC DETECTOR "detectorSpecific/"
#define CHANNEL DETECTOR "threshold_1_channel/"
#define TEM "/Experiments/__unnamed__/metadata/Acquisition_instrument/TEM"
#define UNNAMED "/Experiments/__unnamed__/"
#define PRISMATIC "/4DSTEM_simulation/metadata/metadata_0/original/simulation_parameters"
#define PRISMATIC_CUBE "/4DSTEM_simulation/data/datacubes/CBED_array_depth0000/"
#define BUNDLE "/cube/metadatabundle/calibration/"

/* clang-format off */
static const Part arina[] = {
  { LINK, "/entry/data/data_000001", .name = "/entry/data/data", .text = "x_data_000001.h5" },
  { LINK, "/entry/data/data_000002", .name = "/entry/data/data", .text = "x_data_000002.h5" },
  { NUMBER, SPECIFIC "nimages", .value = 1 },
  { NUMBER, SPECIFIC "ntrigger", .value = 12 },
  { NUMBER, SPECIFIC "photon_energy", .value = 200000 },
  { TEXT, SPECIFIC "photon_energy", "units", .text = "eV" },
  { NUMBER, "/entry/instrument/beam/incident_energy", .value = 200 },
  { TEXT, "/entry/instrument/beam/incident_energy", "units", .text = "keV" },
  { NUMBER, DETECTOR "saturation_value", .value = 60000 },
  { VECTOR, "/entry/data", "scan_shape", .value = 1, .n = { 2 } },
  { MAP, SPECIFIC "pixel_mask", .value = 1 },
  { MAP, DETECTOR "pixel_mask", .value = 0 },
  { MAP, SPECIFIC "flatfield", .value = 1.1, .n = { 1 } },
  { MAP, DETECTOR "flatfield", .value = 1, .n = { 1 } },
  { NUMBER, DETECTOR "flatfield_correction_applied", .value = 0 },
  { NUMBER, DETECTOR "x_pixel_size", .value = 1e-4 },
  { NUMBER, DETECTOR "y_pixel_size", .value = 1e-4 },
  { IN_FILE, .text = "x_data_000001.h5" },
  { FRAMES, "/entry/data/data", .n = { 8 } },
  { NUMBER, "/entry/data/data", "image_nr_low", .value = 1 },
  { NUMBER, "/entry/data/data", "image_nr_high", .value = 8 },
  { IN_FILE, .text = "x_data_000002.h5" },
  { FRAMES, "/entry/data/data", .n = { 4 } },
  { NUMBER, "/entry/data/data", "image_nr_low", .value = 9 },
  { NUMBER, "/entry/data/data", "image_nr_high", .value = 12 },
  { IN_FILE, .text = "x.h5" },
  { GROUP, "/STEM Metadata" },
  { NUMBER, "/STEM Metadata", "NumPixelsY", .value = 3 },
  { NUMBER, "/STEM Metadata", "NumPixelsX", .value = 4 },
  { NUMBER, "/STEM Metadata", "Pixel Size", .value = 0.05 },
  { NUMBER, "/STEM Metadata", "IsPixelSizeCalibrated", .value = 0 },
  { NUMBER, "/STEM Metadata", "High Tension", .value = 300000 },
  { IN_FILE, .text = "x_master.h5" },
};

static const Part arina_one_file[] = {
  { FRAMES, "/entry/data/data_000001", .n = { 8 } },
  { FRAMES, "/entry/data/data_000002", .n = { 4 } },
  { FRAMES, "/entry/data/data", .n = { 2, 3 } },
  { NUMBER, "/entry/data/data", "image_nr_low", .value = 1 },
  { NUMBER, SPECIFIC "nimages", .value = 12 },
  { NUMBER, SPECIFIC "ntrigger", .value = 16777215 },
  { MAP, DETECTOR "pixel_mask", .value = 3 },
};

static const Part nxmx[] = {
  { VIRTUAL, "/entry/data/data", .text = "/entry/data/data", .n = { 8, 2, 2 } },
  { TEXTS, "/entry/data/channel", .text = "threshold_1|threshold_2" },
  { NUMBER, "/entry/instrument/beam/incident_wavelength", .value = 0.0251 },
  { TEXT, "/entry/instrument/beam/incident_wavelength", "units", .text = "angstrom" },
  { NUMBER, DETECTOR "saturation_value", .value = 1000 },
  { MAP, CHANNEL "pixel_mask", .value = 0 },
  { MAP, CHANNEL "flatfield", .value = 1.2, .n = { 1 } },
  { NUMBER, CHANNEL "flatfield_applied", .value = 0 },
  { NUMBER, DETECTOR "x_pixel_size", .value = 1e-4 },
  { NUMBER, DETECTOR "y_pixel_size", .value = 1e-4 },
  { IN_FILE, .text = "x_data_000001.h5" },
  { FRAMES, "/entry/data/data", .n = { 4, 2 } },
  { IN_FILE, .text = "x_data_000002.h5" },
  { FRAMES, "/entry/data/data", .n = { 4, 2 } },
  { IN_FILE, .text = "x.h5" },
  { NUMBER, "/STEM Metadata", .value = 3 },
  { IN_FILE, .text = "x_master.h5" },
};

static const Part nxmx_three[] = {
  { VIRTUAL, "/entry/data/data", .text = "/entry/data/data", .n = { 8, 0, 2 } },
  { MAP, DETECTOR "pixel_mask", .value = 1 },
  { NUMBER, "/entry/instrument/beam/incident_energy", .value = 200000 },
  { IN_FILE, .text = "x_data_000001.h5" },
  { FRAMES, "/entry/data/data", .n = { 4 } },
  { IN_FILE, .text = "x_data_000002.h5" },
  { FRAMES, "/entry/data/data", .n = { 4 } },
  { IN_FILE, .text = "x_master.h5" },
};

static const Part emd[] = {
  { TEXT, "/", "emd_group_type", .text = "file" },
  { FRAMES, "/cube/data", .n = { 2, 3 } },
  { TEXT, "/cube", "emd_group_type", .text = "array" },
  { VECTOR, "/cube/dim0", .value = 0.5, .n = { 2 } },
  { TEXT, "/cube/dim0", "units", .text = "A" },
  { VECTOR, "/cube/dim1", .value = 0.5, .n = { 3 } },
  { TEXT, "/cube/dim1", "units", .text = "A" },
  { VECTOR, "/cube/dim2", .value = 0.02, .n = { 6 } },
  { TEXT, "/cube/dim2", "units", .text = "A^-1" },
  { VECTOR, "/cube/dim3", .value = 0.02, .n = { 5 } },
  { TEXT, "/cube/dim3", "units", .text = "A^-1" },
};

static const Part emd_bundle[] = {
  { FRAMES, "/cube/4D/data", .n = { 2, 3 } },
  { NUMBER, "/cube/4D", "emd_group_type", .value = 1 },
  { VECTOR, "/cube/4D/dim1", .value = 1, .n = { 2 } },
  { TEXT, "/cube/4D/dim1", "units", .text = "pixels" },
  { NUMBER, BUNDLE "R_pixel_size", .value = 0.5 },
  { TEXT, BUNDLE "R_pixel_units", .text = "A" },
  { NUMBER, BUNDLE "Q_pixel_size", .value = 0.02 },
  { TEXT, BUNDLE "Q_pixel_units", .text = "A^-1" },
  { NUMBER, BUNDLE "semiconv_angle", .value = 0.02 },
  { FRAMES, "/b/datacube", .n = { 7 } },
  { TEXT, "/b", "emd_group_type", .text = "array" },
};

static const Part emd_prismatic[] = {
  { GROUP, PRISMATIC },
  { NUMBER, PRISMATIC, "E", .value = 80 },
  { NUMBER, PRISMATIC, "sa", .value = 21.4 },
  { NUMBER, PRISMATIC, "rx", .value = 0.25 },
  { NUMBER, PRISMATIC, "ry", .value = 0.25 },
  { FRAMES, PRISMATIC_CUBE "datacube", .n = { 2, 3 } },
  { NUMBER, PRISMATIC_CUBE, "emd_group_type", .value = 1 },
  { VECTOR, PRISMATIC_CUBE "dim1", .value = 0.25, .n = { 2 } },
  { TEXT, PRISMATIC_CUBE "dim1", "units", .text = "[n_m]" },
  { VECTOR, PRISMATIC_CUBE "dim2", .value = 0.25, .n = { 3 } },
  { TEXT, PRISMATIC_CUBE "dim2", "units", .text = "[n_m]" },
  { VECTOR, PRISMATIC_CUBE "dim3", .value = 0.01, .n = { 6 } },
  { TEXT, PRISMATIC_CUBE "dim3", "units", .text = "[n_m^-1]" },
  { VECTOR, PRISMATIC_CUBE "dim4", .value = 0.01, .n = { 5 } },
  { TEXT, PRISMATIC_CUBE "dim4", "units", .text = "[n_m^-1]" },
};

static const Part velox[] = {
  { GROUP, "/Application/Velox" },
  { FRAMES, "/Data/Image/1/Data", .n = { 3 } },
};

static const Part nexus[] = {
  { TEXT, "/", "default", .text = "entry" },
  { GROUP, "/entry" },
  { TEXT, "/entry", "NX_class", .text = "NXentry" },
  { TEXT, "/entry", "default", .text = "scan" },
  { FRAMES, "/entry/scan/frames", .n = { 2, 3 } },
  { TEXT, "/entry/scan", "NX_class", .text = "NXdata" },
  { TEXT, "/entry/scan", "signal", .text = "frames" },
  { TEXTS, "/entry/scan", "axes", .text = "y|x|ky|." },
  { VECTOR, "/entry/scan/y", .value = 0.5, .n = { 2 } },
  { TEXT, "/entry/scan/y", "units", .text = "angstrom" },
  { VECTOR, "/entry/scan/x", .value = 0.5, .n = { 3 } },
  { TEXT, "/entry/scan/x", "units", .text = "angstrom" },
  { VECTOR, "/entry/scan/ky", .value = 1.5, .n = { 6 } },
  { TEXT, "/entry/scan/ky", "units", .text = "mrad" },
  { NUMBER, "/entry/instrument/beam/incident_energy", .value = 200 },
  { TEXT, "/entry/instrument/beam/incident_energy", "units", .text = "keV" },
  { NUMBER, "/entry/instrument/beam/incident_wavelength", .value = 2.5e-12 },
  { TEXT, "/entry/instrument/beam/incident_wavelength", "units", .text = "m" },
};

static const Part nexus_old[] = {
  { FRAMES, "/run/scan/frames", .n = { 9 } },
  { TEXT, "/run/scan", "NX_class", .text = "NXdata" },
  { TEXT, "/run/scan/frames", "signal", .text = "1" },
  { TEXTS, "/run/scan", "axes", .text = "n|ky|kx" },
  { VECTOR, "/run/scan/kx", .value = 1.5, .n = { 5 } },
  { TEXT, "/run/scan/kx", "units", .text = "1/nm" },
  { FRAMES, "/run/more/frames", .n = { 4 } },
  { TEXT, "/run/more", "NX_class", .text = "NXdata" },
  { NUMBER, "/run/more/frames", "signal", .value = 2 },
  { NUMBER, "/run/instrument/source/voltage", .value = 300000 },
};

static const Part hyperspy[] = {
  { FRAMES, UNNAMED "data", .n = { 2, 3 } },
  { GROUP, UNNAMED "axis-0" },
  { NUMBER, UNNAMED "axis-0", "scale", .value = 0.5 },
  { TEXT, UNNAMED "axis-0", "units", .text = "nm" },
  { GROUP, UNNAMED "axis-1" },
  { NUMBER, UNNAMED "axis-1", "scale", .value = 0.5 },
  { TEXT, UNNAMED "axis-1", "units", .text = "nm" },
  { GROUP, UNNAMED "axis-2" },
  { NUMBER, UNNAMED "axis-2", "scale", .value = 1.5 },
  { TEXT, UNNAMED "axis-2", "units", .text = "mrad" },
  { GROUP, UNNAMED "axis-3" },
  { NUMBER, UNNAMED "axis-3", "scale", .value = 1.5 },
  { TEXT, UNNAMED "axis-3", "units", .text = "mrad" },
  { GROUP, TEM },
  { NUMBER, TEM, "beam_energy", .value = 200 },
  { NUMBER, TEM, "convergence_angle", .value = 20 },
};

static const Part plain[] = {
  { FRAMES, "/a/three", .n = { 6 } },
  { LINK, "/b", .name = "/a/three", .text = "x_data_000001.h5" },
  { NUMBER, "/c", .value = 5 },
  { IN_FILE, .text = "x_data_000001.h5" },
  { FRAMES, "/a/three", .n = { 5 } },
  { IN_FILE, .text = "x_master.h5" },
};

#define NION_AXIS(scale, units) "{\"offset\": 0, \"scale\": " scale ", \"units\": \"" units "\"}"
static const Part nion[] = {
  { FRAMES, "/data", .n = { 2, 3 } },
  { TEXT, "/data", "properties",
    .text = "{\"dimensional_calibrations\": [" NION_AXIS ("0.1", "nm") "," NION_AXIS ("0.1", "nm") "," NION_AXIS ("0.001", "rad") ","
            NION_AXIS ("0.001", "rad") "], \"metadata\": {\"instrument\": {\"high_tension\": 100000, \"ConvergenceAngle\": 0.03}}}" },
};

static const Part nion_item[] = {
  { FRAMES, "/1/data", .n = { 7 } },
  { TEXT, "/1/data", "properties",
    .text = "{\"spatial_calibrations\": [{}, " NION_AXIS ("0.001", "rad") "," NION_AXIS ("0.001", "rad") "], \"high_tension_v\": 60000}" },
  { FRAMES, "/2/data", .n = { 2, 3 } },
};

#define LAYOUT(name) { #name, name, G_N_ELEMENTS (name) }
const Layout layouts[] = {
  LAYOUT (arina), LAYOUT (arina_one_file), LAYOUT (nxmx), LAYOUT (nxmx_three), LAYOUT (emd), LAYOUT (emd_bundle),
  LAYOUT (emd_prismatic), LAYOUT (velox), LAYOUT (nexus), LAYOUT (nexus_old), LAYOUT (hyperspy), LAYOUT (plain),
  LAYOUT (nion), LAYOUT (nion_item),
};
/* clang-format on */
const guint n_layouts = G_N_ELEMENTS (layouts);
