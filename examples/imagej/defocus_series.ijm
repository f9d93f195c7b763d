// The same acquisition at several values of the defocus: the phase is sharpest (its histogram most skewed) near the true one.
// The acquisition is kept open, so that it is read once.
path = getArgument();
setBatchMode(true);
run("Sideband Macro Extensions");
id = Ext.Sideband_open(path, "");
if (startsWith(id, "error: ")) exit(id);

best = 0;
sharpest = -1;
for (c10 = 0; c10 <= 12; c10 += 2) {
  result = Ext.Sideband_run("reconstruct", "input=" + id + " semiangle=30 rotation=0 orientation=identity "
    + "coefficients=[C10=" + c10 + " C12=2.5 phi12=0.4 C21=38 phi21=0.89 C23=29 phi23=0.2 C30=2100 tilt_row=8.4 tilt_col=-5.1 "
    + "depth=3.7]");
  if (startsWith(result, "error: ")) exit(result);
  skewness = parseFloat(Ext.Sideband_get("image.skewness"));
  print("C10 = " + c10 + " nm: skewness " + d2s(skewness, 2));
  if (skewness > sharpest) {
    sharpest = skewness;
    best = c10;
  }
  close("*");
}
Ext.Sideband_close(id);
print("best C10: " + best + " nm");
