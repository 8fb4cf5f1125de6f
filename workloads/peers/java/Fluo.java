// The crawl on Apache Fluo: Percolator's observers and transactions on Accumulo, both of which its
// own mini cluster starts here. Accumulo is two tablet servers and a ZooKeeper, in processes of their
// own; Fluo's oracle and worker are in this process.
//
// Fluo does not tell when the transaction of an observer has committed. So a thread asks every few
// milliseconds, for all documents in flight in one read, which of them have a cluster, and a latency
// is that much too long. Nor does Fluo tell the timestamp of a commit: documents are checked in the
// order of the start timestamps of their last runs. That order serves as well: of two documents that
// look up one key, the second has begun after the first committed, or it would have conflicted.
//
//     d/<id>        document, observed (loaded: of the repository, not observed); cluster
//     k/<n>/<key>   representative: the one to which an n-th key leads
//     m/<number>    value: the single cells
//
// usage: Fluo DOCUMENTS CLUSTERS KEYS FOLDER THREADS

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.fluo.api.client.FluoClient;
import org.apache.fluo.api.client.FluoFactory;
import org.apache.fluo.api.client.Snapshot;
import org.apache.fluo.api.client.Transaction;
import org.apache.fluo.api.client.TransactionBase;
import org.apache.fluo.api.config.FluoConfiguration;
import org.apache.fluo.api.data.Column;
import org.apache.fluo.api.exceptions.CommitException;
import org.apache.fluo.api.mini.MiniFluo;
import org.apache.fluo.api.observer.Observer.NotificationType;
import org.apache.fluo.api.observer.ObserverProvider;

final class Fluo extends Program {
  private static final Column DOCUMENT = new Column("f", "document");
  private static final Column LOADED = new Column("f", "loaded");
  private static final Column CLUSTER = new Column("f", "cluster");
  private static final Column REPRESENTATIVE = new Column("f", "representative");
  private static final Column VALUE = new Column("f", "value");
  private static final String CELL = new String(CELL_VALUE);
  private static final int LOOK_MS = 5;

  /** The start timestamp of the last run for each new document, by row. */
  private static final Map<String, Long> starts = new ConcurrentHashMap<>();

  /** Completed when the document has a cluster, by row. */
  private final Map<String, CompletableFuture<Void>> waiting = new ConcurrentHashMap<>();

  private final FluoClient client;

  private Fluo(FluoClient client, List<String> documents) {
    super(documents);
    this.client = client;
    Thread looking = new Thread(this::look);
    looking.setDaemon(true);
    looking.start();
  }

  public static void main(String[] files) throws Exception {
    FluoConfiguration settings = new FluoConfiguration();
    settings.setApplicationName("crawl");
    settings.setMiniDataDir(files[3]);
    settings.setObserverProvider(Observers.class);
    settings.setWorkerThreads(Integer.parseInt(files[4]));
    MiniFluo mini = FluoFactory.newMiniFluo(settings);
    FluoClient client = FluoFactory.newClient(mini.getClientConfiguration());
    new Fluo(client, linesOf(files[0])).serve(files[1], files[2]);
  }

  public static final class Observers implements ObserverProvider {
    @Override
    public void provide(Registry registry, Context context) {
      registry
          .forColumn(DOCUMENT, NotificationType.STRONG)
          .useStrObserver((transaction, row, column) -> observe(transaction, row));
    }
  }

  /** Does what the observer does (../../crawl-rate/percolator/tables.ts). */
  private static void observe(TransactionBase transaction, String row) {
    starts.put(row, transaction.getStartTimestamp());
    String[] keys = keysOf(bytes(transaction.gets(row, DOCUMENT)));
    List<String> missed = new ArrayList<>();
    String found = null;
    for (int i = 0; i < keys.length && found == null; i++) {
      String cell = "k/" + (i + 1) + "/" + keys[i];
      found = transaction.gets(cell, REPRESENTATIVE);
      if (found == null) missed.add(cell);
    }
    String representative = found == null ? row.substring(2) : found;
    for (String cell : missed) transaction.set(cell, REPRESENTATIVE, representative);
    transaction.set(row, CLUSTER, representative);
  }

  @Override
  void load(List<String> clusters, List<String> keys) throws Exception {
    inPieces(
        clusters.size(),
        (transaction, n) -> {
          transaction.set("d/" + idOfDocument(n), LOADED, new String(contentsOf(n)));
          transaction.set("d/" + idOfDocument(n), CLUSTER, clusters.get(n));
        });
    inPieces(
        keys.size(),
        (transaction, n) -> {
          String[] entry = keys.get(n).split("\t");
          transaction.set("k/" + entry[0], REPRESENTATIVE, entry[1]);
        });
  }

  private interface Piece {
    void set(Transaction transaction, int n);
  }

  private void inPieces(int count, Piece piece) throws Exception {
    for (int first = 0; first < count; first += LOADED_TOGETHER) {
      int from = first;
      int end = Math.min(count, first + LOADED_TOGETHER);
      transact(
          transaction -> {
            for (int n = from; n < end; n++) piece.set(transaction, n);
          });
    }
  }

  @Override
  long cluster(int n) throws Exception {
    String row = "d/" + idOfDocument(n);
    CompletableFuture<Void> clustered = new CompletableFuture<>();
    transact(transaction -> transaction.set(row, DOCUMENT, new String(contentsOf(n))));
    waiting.put(row, clustered);
    clustered.get();
    return starts.get(row);
  }

  private void look() {
    try {
      while (true) {
        Thread.sleep(LOOK_MS);
        Collection<String> rows = List.copyOf(waiting.keySet());
        if (rows.isEmpty()) continue;
        try (Snapshot snapshot = client.newSnapshot()) {
          for (String row : snapshot.gets(rows, Set.of(CLUSTER)).keySet()) {
            waiting.remove(row).complete(null);
          }
        }
      }
    } catch (Exception error) {
      error.printStackTrace();
      System.exit(1);
    }
  }

  @Override
  List<String> representatives(List<Integer> order) {
    List<String> all = new ArrayList<>();
    try (Snapshot snapshot = client.newSnapshot()) {
      for (int first = 0; first < order.size(); first += LOADED_TOGETHER) {
        List<Integer> some = order.subList(first, Math.min(order.size(), first + LOADED_TOGETHER));
        Collection<String> rows =
            some.stream().map(n -> "d/" + idOfDocument(n)).collect(Collectors.toList());
        Map<String, Map<Column, String>> found = snapshot.gets(rows, Set.of(CLUSTER));
        for (String row : rows) all.add(found.getOrDefault(row, Map.of()).get(CLUSTER));
      }
    }
    return all;
  }

  @Override
  void loadCells(int count) throws Exception {
    inPieces(count, (transaction, n) -> transaction.set("m/" + idOf(n), VALUE, CELL));
  }

  @Override
  void readCell(int n) {
    try (Snapshot snapshot = client.newSnapshot()) {
      if (CELL.equals(snapshot.gets("m/" + idOf(n), VALUE))) return;
    }
    throw new IllegalStateException("another value");
  }

  @Override
  void writeCell(int n) throws Exception {
    transact(transaction -> transaction.set("m/" + idOf(n), VALUE, CELL));
  }

  private interface Body {
    void run(Transaction transaction);
  }

  /** Runs the body until it commits. */
  private void transact(Body body) {
    while (true) {
      try (Transaction transaction = client.newTransaction()) {
        body.run(transaction);
        transaction.commit();
        return;
      } catch (CommitException conflict) {
        // Another transaction has written one of these cells: once more.
      }
    }
  }
}
