// SPDX-License-Identifier: Apache-2.0
#include "log/meta_properties.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/file.h"

enum {
  META_SIZE_MAX = 64 * 1024, ///< Kafka's are about 120 bytes
  META_CLUSTER_ID_MAX = 255,
};

/// One line of the file, cut into key and value.
struct meta_line {
  const char *path;  ///< for messages
  int number;        ///< from 1
  const char *key;   ///< unescaped
  const char *value; ///< unescaped
};

void meta_properties_create(struct meta_properties *props)
{
  *props = (struct meta_properties){.node_id = -1};
}

void meta_properties_destroy(struct meta_properties *props)
{
  mem_free(props->cluster_id);
  mem_free(props->metadata);
  mem_free(props->directories);
  mem_free(props->paths);
  mem_free(props->others);
  meta_properties_create(props);
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\f';
}

/// Writes one UTF-16 unit of a \uXXXX escape as UTF-8; halves of a pair come out as they are, three bytes each.
static char *put_utf8(char *out, unsigned unit)
{
  if (unit < 0x80) {
    *out++ = (char)unit;
  } else if (unit < 0x800) {
    *out++ = (char)(0xc0 | unit >> 6);
    *out++ = (char)(0x80 | (unit & 0x3f));
  } else {
    *out++ = (char)(0xe0 | unit >> 12);
    *out++ = (char)(0x80 | (unit >> 6 & 0x3f));
    *out++ = (char)(0x80 | (unit & 0x3f));
  }
  return out;
}

/// Undoes the escapes of Java's properties in place.
static void unescape(char *text)
{
  char *out = text;
  for (const char *in = text; *in != '\0'; in++) {
    if (*in != '\\' || in[1] == '\0') {
      *out++ = *in;
      continue;
    }
    in++;
    if (*in == 'u' && isxdigit((unsigned char)in[1]) && isxdigit((unsigned char)in[2]) &&
        isxdigit((unsigned char)in[3]) && isxdigit((unsigned char)in[4])) {
      char digits[5] = {in[1], in[2], in[3], in[4], '\0'};
      out = put_utf8(out, (unsigned)strtoul(digits, NULL, 16));
      in += 4;
    } else {
      *out++ = *in == 't' ? '\t' : *in == 'n' ? '\n' : *in == 'r' ? '\r' : *in == 'f' ? '\f' : *in;
    }
  }
  *out = '\0';
}

/// Cuts a line at its first separator that is not escaped: blanks, '=' or ':'. Returns where the value starts.
static char *cut_key(char *line)
{
  char *at = line;
  while (*at != '\0' && *at != '=' && *at != ':' && !is_blank(*at)) {
    at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
  }
  char *end = at;
  while (is_blank(*at)) {
    at++;
  }
  if (*at == '=' || *at == ':') {
    at++;
    while (is_blank(*at)) {
      at++;
    }
  }
  *end = '\0';
  return at;
}

static int malformed(const struct meta_line *line)
{
  return error_set(ERR_MALFORMED, "%s:%d: '%s' is not a value of %s", line->path, line->number, line->value, line->key);
}

static int parse_int(const struct meta_line *line, int32_t *number)
{
  char *end = NULL;
  long value = strtol(line->value, &end, 10);
  if (!isdigit((unsigned char)line->value[0]) || *end != '\0' || value < 0 || value > INT32_MAX) {
    return malformed(line);
  }
  *number = (int32_t)value;
  return 0;
}

/// Ids with a comma between.
static bool is_id_list(const char *value)
{
  for (;; value += UUID_TEXT_SIZE) {
    struct uuid id;
    char text[UUID_TEXT_SIZE] = {0};
    size_t length = strcspn(value, ",");
    if (length != sizeof text - 1) {
      return false;
    }
    memcpy(text, value, length);
    if (uuid_parse(text, &id) < 0) {
      return false;
    }
    if (value[length] == '\0') {
      return true;
    }
  }
}

/// An absolute path, the name of a file beside this one, or a directory.id and the name of a file there.
static bool is_metadata_name(const char *value)
{
  if (value[0] == '/') {
    return true;
  }
  const char *slash = strchr(value, '/');
  const char *name = slash == NULL ? value : slash + 1;
  if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strchr(name, '/') != NULL) {
    return false;
  }
  struct uuid id;
  char text[UUID_TEXT_SIZE] = {0};
  if (slash == NULL) {
    return true;
  }
  if ((size_t)(slash - value) != sizeof text - 1) {
    return false;
  }
  memcpy(text, value, sizeof text - 1);
  return uuid_parse(text, &id) == 0;
}

/// Takes a line whose key is known; `is_known` tells.
static int take_line(const struct meta_line *line, struct meta_properties *props, int32_t *version, bool *is_known)
{
  *is_known = true;
  if (strcmp(line->key, "version") == 0) {
    TRY(parse_int(line, version));
    if (*version > 1) {
      return error_set(ERR_UNSUPPORTED_VERSION, "%s:%d: version %" PRId32 " is not known", line->path, line->number,
                       *version);
    }
    return 0;
  }
  if (strcmp(line->key, "node.id") == 0 || strcmp(line->key, "broker.id") == 0) {
    int32_t id = -1;
    TRY(parse_int(line, &id));
    if (props->node_id >= 0 && props->node_id != id) {
      return error_set(ERR_MALFORMED, "%s:%d: both %" PRId32 " and %" PRId32 " are named as broker id", line->path,
                       line->number, props->node_id, id);
    }
    props->node_id = id;
    return 0;
  }
  if (strcmp(line->key, "cluster.id") == 0) {
    size_t length = strlen(line->value);
    if (length == 0 || length > META_CLUSTER_ID_MAX) {
      return malformed(line);
    }
    mem_free(props->cluster_id);
    props->cluster_id = mem_strdup(line->value);
    return 0;
  }
  if (strcmp(line->key, "directory.id") == 0) {
    return uuid_parse(line->value, &props->directory_id) < 0 ? malformed(line) : 0;
  }
  if (strcmp(line->key, "luka.metadata") == 0) {
    if (!is_metadata_name(line->value)) {
      return malformed(line);
    }
    mem_free(props->metadata);
    props->metadata = mem_strdup(line->value);
    return 0;
  }
  if (strcmp(line->key, "luka.directories") == 0) {
    if (!is_id_list(line->value)) {
      return malformed(line);
    }
    mem_free(props->directories);
    props->directories = mem_strdup(line->value);
    return 0;
  }
  if (strcmp(line->key, "luka.paths") == 0) {
    mem_free(props->paths);
    props->paths = mem_strdup(line->value);
    return 0;
  }
  *is_known = false;
  return 0;
}

/// Takes the next logical line: LF, CR or both end it, and a backslash before that joins the next one. NULL at the end
/// of the text.
static char *next_line(char **rest, int *number)
{
  char *start = *rest;
  if (start == NULL || *start == '\0') {
    return NULL;
  }
  char *out = start;
  for (char *in = start;; in++) {
    if (in[0] == '\\' && (in[1] == '\n' || in[1] == '\r')) {
      in += in[1] == '\r' && in[2] == '\n' ? 2 : 1;
      (*number)++;
      while (is_blank(in[1])) {
        in++;
      }
    } else if (in[0] == '\\' && in[1] != '\0') {
      *out++ = *in++;
      *out++ = *in;
    } else if (*in == '\n' || *in == '\r' || *in == '\0') {
      *rest = *in == '\0' ? NULL : in + (in[0] == '\r' && in[1] == '\n' ? 2 : 1);
      (*number)++;
      break;
    } else {
      *out++ = *in;
    }
  }
  *out = '\0';
  return start;
}

/// Takes from the end of a line what would join it with one that is written behind it.
static void trim_joint(char *line)
{
  size_t length = strlen(line);
  size_t backslashes = 0;
  while (backslashes < length && line[length - 1 - backslashes] == '\\') {
    backslashes++;
  }
  if (backslashes % 2 != 0) {
    line[length - 1] = '\0';
  }
}

static int parse(const char *path, char *text, struct meta_properties *props)
{
  int32_t version = -1;
  struct meta_line line = {.path = path};
  char *rest = text;
  for (char *raw = NULL; (raw = next_line(&rest, &line.number)) != NULL;) {
    raw += strspn(raw, " \t\f");
    if (*raw == '\0' || *raw == '#' || *raw == '!') {
      continue;
    }
    char *kept = mem_strdup(raw);
    trim_joint(kept);
    char *value = cut_key(raw);
    unescape(raw);
    unescape(value);
    line.key = raw;
    line.value = value;
    bool is_known = false;
    int result = take_line(&line, props, &version, &is_known);
    if (result == 0 && !is_known) {
      char *others = mem_printf("%s%s\n", props->others == NULL ? "" : props->others, kept);
      mem_free(props->others);
      props->others = others;
    }
    mem_free(kept);
    TRY(result);
  }
  if (version < 0) {
    return error_set(ERR_MALFORMED, "%s: no version", path);
  }
  return 0;
}

int meta_properties_read(const char *path, struct meta_properties *props)
{
  char *text = NULL;
  size_t size = 0;
  TRY(file_read_all(path, META_SIZE_MAX, &text, &size));
  struct meta_properties read;
  meta_properties_create(&read);
  int result = strlen(text) < size ? error_set(ERR_MALFORMED, "%s:1: not a text file", path) : parse(path, text, &read);
  mem_free(text);
  if (result < 0) {
    meta_properties_destroy(&read);
    return result;
  }
  *props = read;
  return 0;
}

/// A value as Java's properties want it: backslashes, line ends and leading blanks escaped. Owned: mem_free().
static char *escape(const char *value)
{
  char *text = mem_alloc(strlen(value) * 2 + 1);
  char *out = text;
  for (const char *in = value; *in != '\0'; in++) {
    if (*in == '\\' || *in == '\n' || *in == '\r' || (in == value && is_blank(*in))) {
      *out++ = '\\';
    }
    *out++ = *in == '\n' ? 'n' : *in == '\r' ? 'r' : *in;
  }
  *out = '\0';
  return text;
}

int meta_properties_write(const char *path, const struct meta_properties *props)
{
  char *text = mem_printf("%sversion=1\n", props->others == NULL ? "" : props->others);
  char id[UUID_TEXT_SIZE] = "";
  char node[16] = "";
  snprintf(node, sizeof node, "%" PRId32, props->node_id);
  if (!uuid_is_zero(&props->directory_id)) {
    uuid_format(&props->directory_id, id);
  }
  const char *pairs[][2] = {
      {"node.id", props->node_id < 0 ? NULL : node}, {"cluster.id", props->cluster_id},
      {"directory.id", id[0] == '\0' ? NULL : id},   {"luka.metadata", props->metadata},
      {"luka.directories", props->directories},      {"luka.paths", props->paths},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    if (pairs[i][1] != NULL) {
      char *value = escape(pairs[i][1]);
      char *longer = mem_printf("%s%s=%s\n", text, pairs[i][0], value);
      mem_free(value);
      mem_free(text);
      text = longer;
    }
  }
  int result = file_replace(path, text, strlen(text));
  mem_free(text);
  return result;
}

int meta_properties_check(const struct meta_properties *props, const char *path, int32_t node_id,
                          const char *cluster_id, const char *metadata)
{
  if (node_id >= 0 && props->node_id >= 0 && props->node_id != node_id) {
    return error_set(ERR_CONFIG,
                     "%s belongs to broker id %" PRId32 ", this broker's id is %" PRId32 ": set broker.id to %" PRId32
                     " or use another data directory",
                     path, props->node_id, node_id, props->node_id);
  }
  if (cluster_id != NULL && props->cluster_id != NULL && strcmp(props->cluster_id, cluster_id) != 0) {
    return error_set(ERR_CONFIG,
                     "%s belongs to cluster %s, the metadata is of cluster %s: bring back the metadata of that cluster "
                     "or use another data directory; nothing was changed",
                     path, props->cluster_id, cluster_id);
  }
  if (metadata != NULL && props->metadata != NULL && strcmp(props->metadata, metadata) != 0) {
    return error_set(ERR_CONFIG,
                     "%s names the metadata %s, the configuration names %s: set broker.metadata to the first or use "
                     "another data directory; nothing was changed",
                     path, props->metadata, metadata);
  }
  return 0;
}
