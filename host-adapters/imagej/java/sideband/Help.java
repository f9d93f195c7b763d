package sideband;

import ij.IJ;
import ij.gui.HTMLDialog;
import java.util.Map;

/** Help and About, written from the catalog. */
final class Help
{
  private Help () {}

  private static String escape (String text)
  {
    return text.replace ("&", "&amp;").replace ("<", "&lt;");
  }

  static String html (Catalog.Command command)
  {
    StringBuilder html = new StringBuilder ("<html><h2>" + escape (command.title) + "</h2><p>" + escape (command.help)
      + "</p><table border=0 cellpadding=3>");
    if (command.needsData)
      line (html, Parameters.INPUT, "The path of an acquisition, or the title of an open stack; the active window where it "
        + "is left out.", "");
    for (Row row : command.rows ().values ()) {
      String notes = row.unit.isEmpty () ? "" : row.unit;
      if (row.choices ().length > 0)
        notes += (notes.isEmpty () ? "" : "; ") + String.join (" | ", row.choices ());
      if (!row.defaultText ().isEmpty ())
        notes += (notes.isEmpty () ? "" : "; ") + "default " + row.defaultText ();
      line (html, row.name, row.help, notes);
    }
    return html.append ("</table>").toString ();
  }

  private static void line (StringBuilder html, String key, String help, String notes)
  {
    html.append ("<tr valign=top><td><b>").append (key).append ("</b></td><td>").append (escape (help));
    if (!notes.isEmpty ())
      html.append (" <i>[").append (escape (notes)).append ("]</i>");
    html.append ("</td></tr>");
  }

  static void show () throws Failure
  {
    StringBuilder html = new StringBuilder ("<html><h2>Sideband " + Library.version () + "</h2><p>Fits the aberrations of a "
      + "4D-STEM acquisition and reconstructs its phase by direct ptychography.</p><table border=0 cellpadding=3>");
    for (Map.Entry<String, String> command : Catalog.get ().commands ().entrySet ())
      line (html, command.getKey (), command.getValue (), "");
    html.append ("</table><p>From a macro: <tt>run(\"Sideband Run...\", \"input=[/data/a_master.h5] ...\");</tt><br>"
      + "Without a display: <tt>call(\"sideband.Sideband_.run\", \"run\", \"input=[/data/a_master.h5] ...\");</tt><br>"
      + "The Help button of each dialog lists its keys.</p><h3>Macro extensions</h3><table border=0 cellpadding=3>");
    for (String[] function : Extensions.FUNCTIONS)
      line (html, "Ext." + function[0], function[1], "");
    String text = html.append ("</table>").toString ();
    if (Ui.isUnattended ())
      IJ.log (text.replaceAll ("</tr>|<br>|</p>|</h.>", "\n").replaceAll ("<[^>]*>", " "));
    else
      new HTMLDialog ("Sideband Help", text, false);
  }

  static String about () throws Failure
  {
    return "Sideband " + Library.version () + " (interface " + Loader.ABI + ")\n"
      + "Platform: " + Loader.platform () + ", Java " + System.getProperty ("java.version") + ", ImageJ " + IJ.getVersion ()
      + "\nBackends: " + Row.show (Catalog.get ().backends ()).replace (",", ", ") + "\n"
      + "Licence: MIT; with FFTW in it, the GNU General Public License applies to the whole.\n"
      + "Cite: Sideband " + Library.version () + ", direct ptychography of 4D-STEM acquisitions.";
  }

  static void showAbout () throws Failure
  {
    if (Ui.isUnattended ())
      IJ.log (about ());
    else
      IJ.showMessage ("About Sideband", about ());
  }
}
