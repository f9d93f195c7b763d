package sideband;

import ij.WindowManager;
import java.util.Map;

/** One command, from its parameters to its result; shows nothing. */
final class Job
{
  private static final int POLL_MS = 50;

  private Job () {}

  static Results run (Parameters parameters, Ui.Progress progress) throws Failure
  {
    Source source = parameters.command.needsData ? Source.of (parameters) : null;
    Selection.take (parameters, source, WindowManager.getCurrentImage ());
    long session = Library.session (parameters.json (Catalog.Section.SESSION));
    Data data = null;
    try {
      progress.share (0, source != null && source.isPushed () ? 0.5 : 0);
      if (source != null)
        data = source.data (session, parameters.json (Catalog.Section.DATA), progress);
      progress.share (source != null && source.isPushed () ? 0.5 : 0, 1);
      return run (parameters.command.name, session, data, parameters.json (Catalog.Section.COMMAND), source, progress);
    } finally {
      if (source != null)
        source.release (data);
    }
  }

  /** On data that are open; they stay open. */
  static Results run (String command, long session, Data data, Map<String, Object> parameters, Source source,
                      Ui.Progress progress) throws Failure
  {
    long[] job = new long[1];
    Library.check (Native.jobNew (job, session, Library.bytes (command), data != null ? data.value () : 0,
                                  Library.bytes (Json.write (parameters))));
    try {
      Library.check (Native.jobStart (job[0]));
      int status = await (job[0], progress);
      if (status == Failure.CANCELLED)
        throw new Failure (status, "Stopped before the end.");
      if (status != Failure.OK)
        throw new Failure (status, Library.text (Native.jobError (job[0])));
      return new Results (Native.jobResult (job[0]), source);
    } finally {
      Native.jobFree (job[0]);
    }
  }

  private static int await (long job, Ui.Progress progress)
  {
    int status;
    boolean cancelled = false;
    while ((status = Native.jobWait (job, POLL_MS)) == Failure.RUNNING) {
      progress.report (Native.jobProgress (job), Library.text (Native.jobStage (job)));
      if (!cancelled && progress.isCancelled ())
        Native.jobCancel (job);
      cancelled |= progress.isCancelled ();
    }
    return status;
  }
}
