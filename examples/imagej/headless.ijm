// Where there is no display: the same commands by call(), which returns the result as JSON, or "error: ..." and a sentence.
//   java -Djava.awt.headless=true -cp ij.jar:Sideband_IJ.jar ij.ImageJ -batch headless.ijm /data/columns_master.h5
path = getArgument();
result = call("sideband.Sideband_.run", "fit", "input=[" + path + "] semiangle=30");
if (startsWith(result, "error: ")) {
  print(result);
} else {
  c10 = parseFloat(call("sideband.Sideband_.get", "values.C10.value"));
  print("C10 = " + d2s(c10, 3) + " nm");
}
