package sideband;

/** What went wrong, in one sentence, with the library's status. */
final class Failure extends Exception
{
  private static final long serialVersionUID = 1;

  /** sb_status of sideband.h. */
  static final int OK = 0, CANCELLED = 1, ARGUMENT = 2, IO = 4, MEMORY = 5, INTERNAL = 9, RUNNING = 10;

  final int status;

  Failure (int status, String sentence)
  {
    super (sentence);
    this.status = status;
  }

  boolean isCancelled ()
  {
    return status == CANCELLED;
  }
}
