// One acquisition: fits the aberrations, shows the phase, prints the defocus.
//   imagej -b one_file.ijm /data/columns_master.h5
path = getArgument();
if (path == "") path = File.openDialog("An acquisition");

run("Sideband Run...", "input=[" + path + "] semiangle=30");

// The table holds value, error and unit of every coefficient.
name = Table.getString("Name", 0, "Sideband fit");
value = Table.get("Value", 0, "Sideband fit");
unit = Table.getString("Unit", 0, "Sideband fit");
print(name + " = " + d2s(value, 3) + " " + unit);
print(getTitle() + " " + getWidth() + " x " + getHeight());
