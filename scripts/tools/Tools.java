// SPDX-License-Identifier: Apache-2.0
//
// Runs many commands of Apache Kafka's command-line tools in one JVM, since starting one for each takes longer than what
// the tool does. scripts/tools/run.lua calls it: java -cp JARS Tools.java STEPS RESULTS. STEPS is a JSON list of what to
// run, RESULTS becomes a list of what each has said.
//
// A tool believes to have a process of its own: System.in, System.out and System.err are told apart by thread group,
// which threads that a tool starts inherit, and what would end the process ends its step (Kafka's tools go through
// Exit, whose procedures can be set; some hooks are the runtime's own). Whatever a tool says after that, nobody would see
// of the real one.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.utils.internals.Exit;

public class Tools {
  static final PrintStream REAL_ERR = System.err;

  /** What Runtime.addShutdownHook() was given: taken out of there, each with its step. */
  static Map<Thread, Thread> runtimeHooks;

  @SuppressWarnings("unchecked")
  static Map<Thread, Thread> findRuntimeHooks() throws ReflectiveOperationException {
    Field field = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
    field.setAccessible(true); // the command line opens java.lang to us
    return (Map<Thread, Thread>) field.get(null);
  }

  /** What the JVM would do on exit: nothing behind it is reached. */
  static final class Exited extends Error {
    Exited() {
      super("exited", null, false, false);
    }
  }

  /** One tool's process: its threads, its streams, its exit. */
  static final class Step extends ThreadGroup {
    final JsonNode spec;
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    final ByteArrayOutputStream err = new ByteArrayOutputStream();
    final InputStream in;
    final List<Runnable> hooks = new ArrayList<>();
    Thread thread;
    boolean isExiting;
    boolean hasExited; // guarded by this, as is all that its threads write
    int status;

    Step(JsonNode spec) {
      super(spec.get("name").asText());
      this.spec = spec;
      in = new ByteArrayInputStream(spec.path("input").asText("").getBytes(StandardCharsets.UTF_8));
    }

    void start() {
      thread = new Thread(this, this::run, "main");
      thread.start();
    }

    private void run() {
      try {
        Method main = Class.forName(spec.get("class").asText()).getMethod("main", String[].class);
        List<String> words = new ArrayList<>();
        spec.get("args").forEach(word -> words.add(insert(word.asText())));
        main.invoke(null, (Object) words.toArray(new String[0]));
        exit(0);
      } catch (InvocationTargetException e) {
        if (e.getCause() instanceof Exited) return;
        synchronized (this) {
          if (hasExited) return;
        }
        System.err.print("Exception in thread \"main\" ");
        e.getCause().printStackTrace();
        exit(1);
      } catch (ReflectiveOperationException e) {
        e.printStackTrace();
        exit(127);
      }
    }

    /** As Runtime.exit(): the hooks run, each in a thread, while the caller waits; the first exit counts. */
    void exit(int code) {
      List<Thread> threads = new ArrayList<>();
      synchronized (this) {
        if (isExiting) return;
        isExiting = true;
        status = code;
        for (Runnable hook : hooks) threads.add(new Thread(this, hook, "hook"));
      }
      synchronized (Tools.class) {
        for (Thread hook : List.copyOf(runtimeHooks.keySet())) {
          if (hook.getThreadGroup() != this) continue;
          runtimeHooks.remove(hook);
          threads.add(hook);
        }
      }
      threads.forEach(Thread::start);
      for (Thread hook : threads) {
        try {
          hook.join(10000);
        } catch (InterruptedException e) {
          break;
        }
      }
      synchronized (this) {
        hasExited = true;
        notifyAll();
      }
    }

    synchronized void write(ByteArrayOutputStream to, byte[] bytes, int from, int count) {
      if (hasExited) return;
      to.write(bytes, from, count);
      notifyAll();
    }

    /** Waits until it has ended; false when it takes longer than `ms`. */
    synchronized boolean await(long ms) throws InterruptedException {
      long end = System.currentTimeMillis() + ms;
      while (!hasExited) {
        long left = end - System.currentTimeMillis();
        if (left <= 0) return false;
        wait(left);
      }
      return true;
    }

    /** Waits until what it wrote on standard output matches; false when that takes longer than `ms`. */
    synchronized boolean awaitText(Pattern pattern, long ms) throws InterruptedException {
      long end = System.currentTimeMillis() + ms;
      while (!pattern.matcher(out.toString(StandardCharsets.UTF_8)).find()) {
        long left = end - System.currentTimeMillis();
        if (left <= 0 || hasExited) return false;
        wait(left);
      }
      return true;
    }

    @Override
    public void uncaughtException(Thread t, Throwable e) {
      if (e instanceof Exited) return;
      System.err.print("Exception in thread \"" + t.getName() + "\" ");
      e.printStackTrace();
    }
  }

  static Step current() {
    for (ThreadGroup group = Thread.currentThread().getThreadGroup(); group != null; group = group.getParent()) {
      if (group instanceof Step) return (Step) group;
    }
    return null;
  }

  /** Standard output or error of whoever writes; what belongs to no step goes nowhere. */
  static PrintStream stream(boolean isErr) {
    return new PrintStream(new OutputStream() {
      @Override
      public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int from, int count) {
        Step step = current();
        if (step != null) step.write(isErr ? step.err : step.out, bytes, from, count);
      }
    }, true, StandardCharsets.UTF_8);
  }

  static final InputStream INPUT = new InputStream() {
    @Override
    public int read() throws IOException {
      Step step = current();
      return step == null ? -1 : step.in.read();
    }

    @Override
    public int read(byte[] bytes, int from, int count) throws IOException {
      Step step = current();
      return step == null ? -1 : step.in.read(bytes, from, count);
    }

    @Override
    public int available() throws IOException {
      Step step = current();
      return step == null ? 0 : step.in.available();
    }
  };

  static void leave(int status) {
    Step step = current();
    if (step != null) step.exit(status);
    throw new Exited();
  }

  static ObjectNode result(ObjectMapper mapper, Step step, String fault) {
    ObjectNode node = mapper.createObjectNode();
    node.put("name", step.spec.get("name").asText());
    synchronized (step) {
      node.put("out", step.out.toString(StandardCharsets.UTF_8));
      node.put("err", step.err.toString(StandardCharsets.UTF_8));
      node.put("status", step.status);
    }
    if (fault != null) node.put("fault", fault);
    return node;
  }

  /** What steps have found in what tools said: names in braces stand for it in later steps. */
  static final Map<String, String> FOUND = new HashMap<>();

  static String insert(String word) {
    for (Map.Entry<String, String> entry : FOUND.entrySet()) word = word.replace("{" + entry.getKey() + "}", entry.getValue());
    return word;
  }

  static void find(JsonNode spec, String out) {
    spec.path("find").fields().forEachRemaining(entry -> {
      Matcher matcher = Pattern.compile(entry.getValue().asText()).matcher(out);
      if (matcher.find()) FOUND.put(entry.getKey(), matcher.group(1));
    });
  }

  /**
   * Runs one: to its end, or until it has said what the step waits for and on in the background. One that has to say
   * something at its end runs again until it does.
   */
  static ObjectNode run(ObjectMapper mapper, JsonNode spec, Map<String, Step> background) throws InterruptedException {
    long ms = spec.path("timeout_ms").asLong(30000);
    if (spec.has("stop")) return stop(mapper, spec, background.remove(spec.get("stop").asText()), ms);
    if (spec.has("wait")) {
      Step step = new Step(spec);
      step.start();
      background.put(spec.get("name").asText(), step);
      boolean hasSaid = step.awaitText(Pattern.compile(spec.get("wait").asText()), ms);
      return hasSaid ? null : result(mapper, step, "does not say " + spec.get("wait").asText());
    }
    Pattern until = Pattern.compile(spec.path("until").asText(""));
    long end = System.currentTimeMillis() + ms;
    while (true) {
      Step step = new Step(spec);
      step.start();
      ObjectNode node = result(mapper, step, step.await(ms) ? null : "does not end");
      find(spec, node.get("out").asText());
      if (until.matcher(node.get("out").asText()).find() || System.currentTimeMillis() > end) return node;
    }
  }

  /** As a signal would: the hooks run, and what they make the tool say is still heard. */
  static ObjectNode stop(ObjectMapper mapper, JsonNode spec, Step step, long ms) throws InterruptedException {
    Thread end = new Thread(step, () -> step.exit(143), "stop");
    end.start();
    end.join(ms);
    step.thread.join(ms);
    ObjectNode node = result(mapper, step, step.thread.isAlive() ? "does not end" : null);
    node.put("name", spec.get("name").asText());
    return node;
  }

  public static void main(String[] args) throws Exception {
    runtimeHooks = findRuntimeHooks();
    Exit.setExitProcedure((status, message) -> leave(status));
    Exit.setHaltProcedure((status, message) -> leave(status));
    Exit.setShutdownHookAdder((name, hook) -> {
      Step step = current();
      if (step == null) return;
      synchronized (step) {
        step.hooks.add(hook);
      }
    });
    System.setOut(stream(false));
    System.setErr(stream(true));
    System.setIn(INPUT);
    ObjectMapper mapper = new ObjectMapper();
    Map<String, Step> background = new HashMap<>();
    ArrayNode results = mapper.createArrayNode();
    for (JsonNode spec : mapper.readTree(new File(args[0]))) {
      long start = System.currentTimeMillis();
      ObjectNode node = run(mapper, spec, background);
      if (node != null) results.add(node);
      REAL_ERR.println(System.currentTimeMillis() - start + " ms  " + spec.get("name").asText());
    }
    mapper.writerWithDefaultPrettyPrinter().writeValue(new File(args[1]), results);
    Runtime.getRuntime().halt(0);
  }
}
