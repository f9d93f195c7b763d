package sideband;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the library says it can do: commands, parameters, formats. The only source of names and defaults here. */
final class Catalog
{
  /** The three places that take parameters, in sideband.h's words. */
  enum Section { SESSION, DATA, COMMAND }

  private static Catalog catalog;
  private final Map<String, Object> root;

  static final class Group
  {
    final String title;
    final List<Row> rows = new ArrayList<> ();

    Group (Map<String, Object> group)
    {
      title = Json.text (group.get ("title"));
      for (Object row : Json.list (group.get ("rows")))
        rows.add (new Row (Json.object (row)));
    }
  }

  static final class Command
  {
    final String name, title, help;
    final boolean needsData;
    private final Map<Section, List<Group>> groups = new LinkedHashMap<> ();

    Command (Catalog catalog, Map<String, Object> command)
    {
      name = Json.text (command.get ("name"));
      title = Json.text (command.get ("title"));
      help = Json.text (command.get ("help"));
      needsData = Boolean.TRUE.equals (command.get ("needs_data"));
      groups.put (Section.COMMAND, groupsOf (command.get ("groups")));
      groups.put (Section.DATA, groupsOf (needsData ? catalog.root.get ("data") : null));
      groups.put (Section.SESSION, groupsOf (catalog.root.get ("session")));
    }

    /** Another command's stages before the job, without a job. */
    Command (Catalog catalog, String title, String help)
    {
      name = "";
      this.title = title;
      this.help = help;
      needsData = true;
      groups.put (Section.DATA, groupsOf (catalog.root.get ("data")));
      groups.put (Section.SESSION, groupsOf (catalog.root.get ("session")));
    }

    private static List<Group> groupsOf (Object list)
    {
      List<Group> groups = new ArrayList<> ();
      for (Object group : Json.list (list))
        groups.add (new Group (Json.object (group)));
      return groups;
    }

    List<Group> groups (Section section)
    {
      List<Group> list = groups.get (section);
      return list != null ? list : new ArrayList<Group> ();
    }

    boolean takes (Section section, String key)
    {
      for (Group group : groups (section))
        for (Row row : group.rows)
          if (row.name.equals (key))
            return true;
      return false;
    }

    /** Every row once, in the order of a dialog. */
    Map<String, Row> rows ()
    {
      Map<String, Row> rows = new LinkedHashMap<> ();
      for (List<Group> list : groups.values ())
        for (Group group : list)
          for (Row row : group.rows)
            if (!rows.containsKey (row.name))
              rows.put (row.name, row);
      return rows;
    }
  }

  private Catalog (Map<String, Object> root)
  {
    this.root = root;
  }

  static synchronized Catalog get () throws Failure
  {
    Loader.ensure ();
    if (catalog == null)
      catalog = new Catalog (Json.object (Json.parse (Library.text (Native.catalog ()))));
    return catalog;
  }

  Command command (String name) throws Failure
  {
    StringBuilder names = new StringBuilder ();
    for (Object item : Json.list (root.get ("commands"))) {
      Map<String, Object> command = Json.object (item);
      if (name.equals (command.get ("name")))
        return new Command (this, command);
      names.append (names.length () > 0 ? ", " : "").append (command.get ("name"));
    }
    throw new Failure (Failure.ARGUMENT, "There is no command \"" + name + "\"; the commands are: " + names + ".");
  }

  Command opening ()
  {
    return new Command (this, "Open acquisition", "Shows the frames of an acquisition as a virtual stack, read as they are "
      + "looked at. " + formats ());
  }

  private String formats ()
  {
    StringBuilder text = new StringBuilder ("Formats: ");
    String separator = "";
    for (Object format : Json.list (root.get ("formats"))) {
      text.append (separator).append (Json.text (Json.object (format).get ("title")));
      separator = "; ";
    }
    return text.append (".").toString ();
  }

  /** The commands of the library, each with its sentence. */
  Map<String, String> commands ()
  {
    Map<String, String> commands = new LinkedHashMap<> ();
    for (Object item : Json.list (root.get ("commands"))) {
      Map<String, Object> command = Json.object (item);
      commands.put (Json.text (command.get ("name")), Json.text (command.get ("help")));
    }
    return commands;
  }

  List<Object> backends ()
  {
    return Json.list (root.get ("backends"));
  }
}
