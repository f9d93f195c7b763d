// Every acquisition below a folder: a table of the fits (fits.csv) and a stack of the phases (phases.tif). A file that
// cannot be used is reported in one line, and the others go on.
//   imagej -b folder.ijm /data/today/
folder = getArgument();
if (folder == "") folder = getDirectory("A folder of acquisitions");
if (!endsWith(folder, "/")) folder = folder + "/";
setBatchMode(true);
run("Sideband Macro Extensions");

csv = "file,C10 (nm),error (nm),agreement\n";
done = 0;
failed = 0;
list = getFileList(folder);
for (i = 0; i < list.length; i++) {
  path = folder + list[i];
  if (endsWith(path, "/")) path = path + "columns_master.h5";
  if (!endsWith(path, "_master.h5") || !File.exists(path)) continue;
  result = Ext.Sideband_run("run", "input=[" + path + "] semiangle=30 rotation=0 orientation=identity");
  if (startsWith(result, "error: ")) {
    print(list[i] + ": " + result);
    failed++;
    continue;
  }
  csv = csv + "\"" + list[i] + "\"," + Ext.Sideband_get("values.C10.value") + "," + Ext.Sideband_get("values.C10.error") + ","
      + Ext.Sideband_get("agreement") + "\n";
  phase = getImageID();
  if (done == 0) {
    run("Duplicate...", "title=phases");
  } else {
    run("Select All");
    run("Copy");
    selectImage("phases");
    run("Add Slice");
    run("Paste");
  }
  setMetadata("Label", list[i]);
  done++;
  close("\\Others");
}
if (done > 0) saveAs("Tiff", folder + "phases.tif");
File.saveString(csv, folder + "fits.csv");
print(done + " done, " + failed + " failed");
