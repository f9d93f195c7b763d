/* The door between Java and sideband.h: converts, calls, returns the status. No logic. Text crosses as bytes of UTF-8,
 * ended by a 0 that Java appends; handles as jlong; a frame is held only while it is copied. */
#include <jni.h>
#include <string.h>

#include "plugin/sideband.h"

#define HANDLE(type, value) ((type *)(intptr_t)(value))

static jsize
element_bytes (jint dtype)
{
  static const jsize bytes[] = { 1, 2, 4, 2, 4, 4, 8 };
  return dtype >= 0 && dtype < 7 ? bytes[dtype] : 0;
}

static jbyteArray
bytes_of (JNIEnv *env, const char *text)
{
  if (text == NULL)
    return NULL;
  jsize n = (jsize)strlen (text);
  jbyteArray array = (*env)->NewByteArray (env, n);
  if (array != NULL)
    (*env)->SetByteArrayRegion (env, array, 0, n, (const jbyte *)text);
  return array;
}

static char *
text_of (JNIEnv *env, jbyteArray array)
{
  return array != NULL ? (char *)(*env)->GetByteArrayElements (env, array, NULL) : NULL;
}

static void
text_done (JNIEnv *env, jbyteArray array, char *text)
{
  if (text != NULL)
    (*env)->ReleaseByteArrayElements (env, array, (jbyte *)text, JNI_ABORT);
}

static jint
give (JNIEnv *env, jlongArray out, void *handle, int status)
{
  const jlong value = (jlong)(intptr_t)handle;
  (*env)->SetLongArrayRegion (env, out, 0, 1, &value);
  return status;
}

static jint
lib_abi (JNIEnv *env, jclass type)
{
  return sb_abi_version () == SB_ABI_VERSION ? SB_ABI_VERSION : -sb_abi_version ();
}

static jbyteArray
lib_version (JNIEnv *env, jclass type)
{
  return bytes_of (env, sb_version ());
}

static jbyteArray
lib_catalog (JNIEnv *env, jclass type)
{
  return bytes_of (env, sb_catalog ());
}

static jbyteArray
lib_message (JNIEnv *env, jclass type)
{
  return bytes_of (env, sb_error_message ());
}

static jint
session_new (JNIEnv *env, jclass type, jlongArray out, jbyteArray json)
{
  sb_session *session = NULL;
  char *text = text_of (env, json);
  int status = sb_session_new (&session, text);
  text_done (env, json, text);
  return give (env, out, session, status);
}

static void
session_free (JNIEnv *env, jclass type, jlong session)
{
  sb_session_free (HANDLE (sb_session, session));
}

static jint
data_open (JNIEnv *env, jclass type, jlongArray out, jlong session, jbyteArray path, jbyteArray json)
{
  sb_data *data = NULL;
  char *name = text_of (env, path), *text = text_of (env, json);
  int status = sb_data_open (&data, HANDLE (sb_session, session), name, text);
  text_done (env, json, text);
  text_done (env, path, name);
  return give (env, out, data, status);
}

static jint
data_new (JNIEnv *env, jclass type, jlongArray out, jlong session, jbyteArray json)
{
  sb_data *data = NULL;
  char *text = text_of (env, json);
  int status = sb_data_new (&data, HANDLE (sb_session, session), text);
  text_done (env, json, text);
  return give (env, out, data, status);
}

/* One frame of a primitive array whose elements are those of the dtype (Pixels.java pairs them): held for the copy only. */
static jint
data_push (JNIEnv *env, jclass type, jlong data, jlong first, jobject array, jint dtype, jint rows, jint cols)
{
  sb_view view = { .struct_size = sizeof view, .dtype = dtype, .n_dims = 2, .shape = { rows, cols } };
  if (rows < 1 || cols < 1 || rows > (*env)->GetArrayLength (env, array) / cols)
    return SB_ARGUMENT;
  view.data = (*env)->GetPrimitiveArrayCritical (env, array, NULL);
  if (view.data == NULL)
    return SB_MEMORY;
  int status = sb_data_push (HANDLE (sb_data, data), first, 1, &view);
  (*env)->ReleasePrimitiveArrayCritical (env, array, view.data, JNI_ABORT);
  return status;
}

/* One frame into a direct buffer: reading takes time, and no array is held meanwhile. */
static jint
data_frame (JNIEnv *env, jclass type, jlong data, jlong first, jobject buffer, jint dtype, jint rows, jint cols)
{
  sb_view view = { .struct_size = sizeof view, .dtype = dtype, .n_dims = 2, .shape = { rows, cols } };
  view.data = (*env)->GetDirectBufferAddress (env, buffer);
  if (view.data == NULL || (jlong)rows * cols * element_bytes (dtype) > (*env)->GetDirectBufferCapacity (env, buffer))
    return SB_ARGUMENT;
  return sb_data_frames (HANDLE (sb_data, data), first, 1, &view);
}

static jint
data_finish (JNIEnv *env, jclass type, jlong data)
{
  return sb_data_finish (HANDLE (sb_data, data));
}

static jbyteArray
data_info (JNIEnv *env, jclass type, jlong data)
{
  return bytes_of (env, sb_data_info (HANDLE (sb_data, data)));
}

static void
data_free (JNIEnv *env, jclass type, jlong data)
{
  sb_data_free (HANDLE (sb_data, data));
}

static jint
job_new (JNIEnv *env, jclass type, jlongArray out, jlong session, jbyteArray command, jlong data, jbyteArray json)
{
  sb_job *job = NULL;
  char *name = text_of (env, command), *text = text_of (env, json);
  int status = sb_job_new (&job, HANDLE (sb_session, session), name, HANDLE (sb_data, data), text);
  text_done (env, json, text);
  text_done (env, command, name);
  return give (env, out, job, status);
}

static jint
job_start (JNIEnv *env, jclass type, jlong job)
{
  return sb_job_start (HANDLE (sb_job, job));
}

static jint
job_wait (JNIEnv *env, jclass type, jlong job, jint ms)
{
  return sb_job_wait (HANDLE (sb_job, job), ms);
}

static jdouble
job_progress (JNIEnv *env, jclass type, jlong job)
{
  return sb_job_progress (HANDLE (sb_job, job), NULL);
}

static jbyteArray
job_stage (JNIEnv *env, jclass type, jlong job)
{
  const char *stage = NULL;
  sb_job_progress (HANDLE (sb_job, job), &stage);
  return bytes_of (env, stage);
}

static void
job_cancel (JNIEnv *env, jclass type, jlong job)
{
  sb_job_cancel (HANDLE (sb_job, job));
}

static jbyteArray
job_error (JNIEnv *env, jclass type, jlong job)
{
  return bytes_of (env, sb_job_error (HANDLE (sb_job, job)));
}

static jlong
job_result (JNIEnv *env, jclass type, jlong job)
{
  return (jlong)(intptr_t)sb_job_result (HANDLE (sb_job, job));
}

static void
job_free (JNIEnv *env, jclass type, jlong job)
{
  sb_job_free (HANDLE (sb_job, job));
}

static jbyteArray
result_info (JNIEnv *env, jclass type, jlong result)
{
  return bytes_of (env, sb_result_info (HANDLE (const sb_result, result)));
}

static jint
result_view (JNIEnv *env, jlong result, jbyteArray name, sb_view *view)
{
  *view = (sb_view){ .struct_size = sizeof *view };
  char *text = text_of (env, name);
  int status = sb_result_array (view, HANDLE (const sb_result, result), text);
  text_done (env, name, text);
  return status;
}

/* The number type, or minus the status. */
static jint
result_dtype (JNIEnv *env, jclass type, jlong result, jbyteArray name)
{
  sb_view view;
  int status = result_view (env, result, name, &view);
  return status == SB_OK ? view.dtype : -status;
}

static jint
result_array (JNIEnv *env, jclass type, jlong result, jbyteArray name, jobject array)
{
  sb_view view;
  int status = result_view (env, result, name, &view);
  jlong n = 1;
  for (int i = 0; i < view.n_dims; i++)
    n *= view.shape[i];
  if (status != SB_OK)
    return status;
  if (n != (*env)->GetArrayLength (env, array))
    return SB_ARGUMENT;
  void *to = (*env)->GetPrimitiveArrayCritical (env, array, NULL);
  if (to == NULL)
    return SB_MEMORY;
  memcpy (to, view.data, (size_t)n * (size_t)element_bytes (view.dtype));
  (*env)->ReleasePrimitiveArrayCritical (env, array, to, 0);
  return SB_OK;
}

static jint
result_save (JNIEnv *env, jclass type, jlong result, jbyteArray path, jbyteArray kind)
{
  char *name = text_of (env, path), *word = text_of (env, kind);
  int status = sb_result_save (HANDLE (const sb_result, result), name, word);
  text_done (env, kind, word);
  text_done (env, path, name);
  return status;
}

#define NATIVE(name, signature, function)                                                                                      \
  {                                                                                                                            \
    (char *)name, (char *)signature, (void *)function                                                                          \
  }

static const JNINativeMethod natives[] = {
  NATIVE ("abi", "()I", lib_abi),
  NATIVE ("version", "()[B", lib_version),
  NATIVE ("catalog", "()[B", lib_catalog),
  NATIVE ("message", "()[B", lib_message),
  NATIVE ("sessionNew", "([J[B)I", session_new),
  NATIVE ("sessionFree", "(J)V", session_free),
  NATIVE ("dataOpen", "([JJ[B[B)I", data_open),
  NATIVE ("dataNew", "([JJ[B)I", data_new),
  NATIVE ("dataPush", "(JJLjava/lang/Object;III)I", data_push),
  NATIVE ("dataFrame", "(JJLjava/nio/ByteBuffer;III)I", data_frame),
  NATIVE ("dataFinish", "(J)I", data_finish),
  NATIVE ("dataInfo", "(J)[B", data_info),
  NATIVE ("dataFree", "(J)V", data_free),
  NATIVE ("jobNew", "([JJ[BJ[B)I", job_new),
  NATIVE ("jobStart", "(J)I", job_start),
  NATIVE ("jobWait", "(JI)I", job_wait),
  NATIVE ("jobProgress", "(J)D", job_progress),
  NATIVE ("jobStage", "(J)[B", job_stage),
  NATIVE ("jobCancel", "(J)V", job_cancel),
  NATIVE ("jobError", "(J)[B", job_error),
  NATIVE ("jobResult", "(J)J", job_result),
  NATIVE ("jobFree", "(J)V", job_free),
  NATIVE ("resultInfo", "(J)[B", result_info),
  NATIVE ("resultDtype", "(J[B)I", result_dtype),
  NATIVE ("resultArray", "(J[BLjava/lang/Object;)I", result_array),
  NATIVE ("resultSave", "(J[B[B)I", result_save),
};

JNIEXPORT jint JNICALL
JNI_OnLoad (JavaVM *vm, void *reserved)
{
  JNIEnv *env = NULL;
  if ((*vm)->GetEnv (vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
    return JNI_ERR;
  jclass type = (*env)->FindClass (env, "sideband/Native");
  if (type == NULL || (*env)->RegisterNatives (env, type, natives, sizeof natives / sizeof natives[0]) != 0)
    return JNI_ERR;
  return JNI_VERSION_1_8;
}
