// A program of bench:peers (../program.ts describes its requests) in Java: what does not depend on
// the system. A subclass is the crawl and the single cells on one system; its calls block, so each
// caller is a thread, which clusters the document that it has loaded.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

abstract class Program {
  static final int LOADED_TOGETHER = 500;
  static final byte[] CELL_VALUE = bytes("a".repeat(100));

  /** The records: id, three keys, address and contents, between tabs. */
  final List<String> documents;
  /** Documents before the crawl, and the number of the next new one. */
  private int repository;
  private int next;
  private int cells;
  /** The new documents, with their commit timestamps. */
  private final List<long[]> commits = Collections.synchronizedList(new ArrayList<>());

  Program(List<String> documents) {
    this.documents = documents;
  }

  /** Loads the repository as an earlier crawl would have left it. */
  abstract void load(List<String> clusters, List<String> keys) throws Exception;

  /** Loads a new document and clusters it; returns the timestamp of the latter's commit. */
  abstract long cluster(int n) throws Exception;

  /** The representative of each of the documents, from what the system has stored. */
  abstract List<String> representatives(List<Integer> documents) throws Exception;

  abstract void loadCells(int count) throws Exception;

  abstract void readCell(int n) throws Exception;

  abstract void writeCell(int n) throws Exception;

  void serve(String clusters, String keys) throws Exception {
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
    for (String request; (request = requests.readLine()) != null; ) {
      String[] words = request.split(" ");
      double[] numbers = new double[words.length];
      if (!words[0].equals("partition")) {
        for (int i = 1; i < words.length; i++) numbers[i] = Double.parseDouble(words[i]);
      }
      System.out.println(
          switch (words[0]) {
            case "load" -> loadAll(linesOf(clusters), linesOf(keys));
            case "crawl" -> crawl((int) numbers[1], (int) numbers[2], numbers[3]);
            case "arrive" -> arrive((int) numbers[1], numbers[2]);
            case "partition" -> write(Path.of(words[1]));
            case "cells" -> loadAllCells((int) numbers[1]);
            case "read" -> onCells((int) numbers[1], numbers[2], this::readCell);
            case "write" -> onCells((int) numbers[1], numbers[2], this::writeCell);
            default -> throw new IllegalArgumentException("unknown request: " + request);
          });
    }
    System.exit(0);
  }

  private String loadAll(List<String> clusters, List<String> keys) throws Exception {
    repository = clusters.size();
    next = repository;
    load(clusters, keys);
    return answer(0, 0, "");
  }

  private String crawl(int count, int callers, double seconds) throws Exception {
    int first = next;
    Loop done = loop(callers, count, seconds, n -> one(first + n));
    next += done.done;
    return answer(done.done, done.seconds, "");
  }

  private void one(int n) throws Exception {
    commits.add(new long[] {cluster(n), n});
  }

  /** New documents, each when it is due, whatever the system does; a latency counts from then. */
  private String arrive(int count, double perSecond) throws Exception {
    ExecutorService callers = Executors.newCachedThreadPool();
    List<Future<Double>> latencies = new ArrayList<>();
    long start = System.nanoTime();
    for (int i = 0; i < count; i++) {
      long due = start + (long) (i * 1e9 / perSecond);
      long wait = due - System.nanoTime();
      if (wait > 0) Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
      int n = next + i;
      latencies.add(
          callers.submit(
              () -> {
                one(n);
                return (System.nanoTime() - due) / 1e3;
              }));
    }
    List<String> all = new ArrayList<>();
    for (Future<Double> latency : latencies) all.add(latency.get().toString());
    callers.shutdown();
    next += count;
    return answer(count, (System.nanoTime() - start) / 1e9, String.join(",", all));
  }

  /** The repository, then the new documents in the order of their commits. */
  private String write(Path file) throws Exception {
    commits.sort((a, b) -> Long.compare(a[0], b[0]));
    List<Integer> order = new ArrayList<>();
    for (int n = 0; n < repository; n++) order.add(n);
    for (long[] commit : commits) order.add((int) commit[1]);
    List<String> found = representatives(order);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < order.size(); i++) {
      lines.append(idOf(order.get(i))).append('\t').append(found.get(i)).append('\n');
    }
    Files.writeString(file, lines);
    return answer(0, 0, "");
  }

  private String loadAllCells(int count) throws Exception {
    cells = count;
    loadCells(count);
    return answer(0, 0, "");
  }

  private String onCells(int callers, double seconds, Operation operation) throws Exception {
    Operation any = n -> operation.run(ThreadLocalRandom.current().nextInt(cells));
    Loop done = loop(callers, Integer.MAX_VALUE, seconds, any);
    return answer(done.done, done.seconds, "");
  }

  interface Operation {
    void run(int n) throws Exception;
  }

  record Loop(int done, double seconds) {}

  /** Calls the operation with 0, 1, ..., until it has begun `count` times or the time is over. */
  private static Loop loop(int callers, int count, double seconds, Operation operation)
      throws Exception {
    AtomicInteger begun = new AtomicInteger();
    AtomicInteger done = new AtomicInteger();
    long start = System.nanoTime();
    ExecutorService threads = Executors.newFixedThreadPool(callers);
    List<Future<Void>> running = new ArrayList<>();
    for (int i = 0; i < callers; i++) {
      running.add(
          threads.submit(
              () -> {
                while (System.nanoTime() - start < seconds * 1e9) {
                  int n = begun.getAndIncrement();
                  if (n >= count) break;
                  operation.run(n);
                  done.incrementAndGet();
                }
                return null;
              }));
    }
    for (Future<Void> one : running) one.get();
    threads.shutdown();
    return new Loop(done.get(), (System.nanoTime() - start) / 1e9);
  }

  private static String answer(int done, double seconds, String latencies) {
    String all = latencies.isEmpty() ? "" : ",\"latenciesUs\":[" + latencies + "]";
    return "{\"done\":" + done + ",\"seconds\":" + seconds + all + "}";
  }

  static String idOf(int n) {
    return String.format("%010d", n);
  }

  String idOfDocument(int n) {
    return documents.get(n).substring(0, documents.get(n).indexOf('\t'));
  }

  /** The record after the id. */
  byte[] contentsOf(int n) {
    return bytes(documents.get(n).substring(documents.get(n).indexOf('\t') + 1));
  }

  static String[] keysOf(byte[] contents) {
    String[] fields = new String(contents, StandardCharsets.ISO_8859_1).split("\t", 4);
    return new String[] {fields[0], fields[1], fields[2]};
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  static List<String> linesOf(String file) throws IOException {
    return Files.readAllLines(Path.of(file), StandardCharsets.ISO_8859_1);
  }
}
