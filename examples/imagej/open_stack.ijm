// Frames that are open already, from whatever reader: scan columns are the slices, scan rows the frames of a hyperstack.
// Here Sideband's own reader gives the window, and a duplicate stands for another program's; its frames are handed over
// while the library works.
path = getArgument();
setBatchMode(true);
run("Sideband Open Acquisition...", "input=[" + path + "]");
run("Duplicate...", "title=columns duplicate");
close("\\Others");

// What the file would have said is given here: energy, step and semi-angle.
run("Sideband Reconstruct...", "energy=300 step=0.4 semiangle=30 rotation=0 orientation=identity "
  + "coefficients=[C10=6 C12=2.5 phi12=0.4]");
print(getTitle() + " " + getWidth() + " x " + getHeight());
