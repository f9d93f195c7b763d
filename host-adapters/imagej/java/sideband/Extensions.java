package sideband;

import ij.macro.ExtensionDescriptor;
import ij.macro.MacroExtension;

/** Ext.Sideband_...: like call (), each returns "error: ..." instead of stopping the macro. */
final class Extensions implements MacroExtension
{
  static final String[][] FUNCTIONS = {
    {"Sideband_run(command, options)", "Runs a command, shows its images and returns the JSON of the result, or \"error: \" and "
      + "a sentence."},
    {"Sideband_get(path)", "A value of the last result, as text: \"values.C10.value\", \"calibration.centre.0\"."},
    {"Sideband_open(input, options)", "Opens an acquisition and keeps it; returns the name to give as input=."},
    {"Sideband_close(name)", "Lets it go."},
    {"Sideband_version()", "The version of the library."}};

  @Override
  public ExtensionDescriptor[] getExtensionFunctions ()
  {
    int text = MacroExtension.ARG_STRING;
    return new ExtensionDescriptor[] {
      ExtensionDescriptor.newDescriptor ("Sideband_run", this, text, text),
      ExtensionDescriptor.newDescriptor ("Sideband_get", this, text),
      ExtensionDescriptor.newDescriptor ("Sideband_open", this, text, text),
      ExtensionDescriptor.newDescriptor ("Sideband_close", this, text),
      ExtensionDescriptor.newDescriptor ("Sideband_version", this)};
  }

  @Override
  public String handleExtension (String name, Object[] arguments)
  {
    switch (name) {
    case "Sideband_run":
      return Sideband_.run ((String)arguments[0], (String)arguments[1]);
    case "Sideband_get":
      return Sideband_.get ((String)arguments[0]);
    case "Sideband_open":
      return Sideband_.open ((String)arguments[0], (String)arguments[1]);
    case "Sideband_close":
      return Sideband_.close ((String)arguments[0]);
    default:
      return Sideband_.version ();
    }
  }
}
