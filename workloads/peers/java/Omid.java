// The crawl on Apache Omid over HBase. Omid decides conflicts in a server of its own (TSO), which
// also hands out timestamps and keeps the table of commits, in HBase; a client writes no locks. Here
// the server is in the process of the client, as Percolator's oracle is in ours. Calls go through a
// socket of the loopback all the same.
//
// Omid has no observers. A document is loaded with a mark, in the same transaction, and the mark is
// removed in the transaction that clusters it: it stands for Percolator's notification.
//
//     documents   row: id       document; cluster: its representative; queued: the mark
//     keys        row: n/key    representative: the one to which an n-th key leads
//     cells       row: number   value
//
// usage: Omid DOCUMENTS CLUSTERS KEYS; the configuration of HBase is on the class path

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.omid.committable.hbase.DefaultHBaseCommitTableStorageModule;
import org.apache.omid.timestamp.storage.DefaultHBaseTimestampStorageModule;
import org.apache.omid.tools.hbase.OmidTableManager;
import org.apache.omid.transaction.AbstractTransaction;
import org.apache.omid.transaction.HBaseOmidClientConfiguration;
import org.apache.omid.transaction.HBaseTransactionManager;
import org.apache.omid.transaction.RollbackException;
import org.apache.omid.transaction.TTable;
import org.apache.omid.transaction.Transaction;
import org.apache.omid.transaction.TransactionManager;
import org.apache.omid.tso.TSOServer;
import org.apache.omid.tso.TSOServerConfig;

final class Omid extends Program {
  private static final byte[] FAMILY = bytes("f");
  private static final byte[] DOCUMENT = bytes("document");
  private static final byte[] CLUSTER = bytes("cluster");
  private static final byte[] QUEUED = bytes("queued");
  private static final byte[] REPRESENTATIVE = bytes("representative");
  private static final byte[] VALUE = bytes("value");
  /** Rows for which conflicts are remembered; Omid's default of 100 million takes 1.6 GB. */
  private static final int CONFLICT_MAP_SIZE = 1_000_000;

  private final Configuration configuration;
  private final Connection connection;
  private TransactionManager transactions;
  /** A table is for one thread. */
  private final ThreadLocal<Map<String, TTable>> tables = ThreadLocal.withInitial(HashMap::new);

  private Omid(Configuration configuration, List<String> documents) throws IOException {
    super(documents);
    this.configuration = configuration;
    connection = ConnectionFactory.createConnection(configuration);
  }

  public static void main(String[] files) throws Exception {
    new Omid(HBaseConfiguration.create(), linesOf(files[0])).serve(files[1], files[2]);
  }

  @Override
  void load(List<String> clusters, List<String> keys) throws Exception {
    createTables();
    transactions = connect(startServer());
    List<Put> puts = new ArrayList<>();
    for (int n = 0; n < clusters.size(); n++) {
      Put put = put(idOfDocument(n), DOCUMENT, contentsOf(n));
      puts.add(put.addColumn(FAMILY, CLUSTER, bytes(clusters.get(n))));
    }
    putAll("documents", puts);
    puts = new ArrayList<>();
    for (String line : keys) {
      String[] entry = line.split("\t");
      puts.add(put(entry[0], REPRESENTATIVE, bytes(entry[1])));
    }
    putAll("keys", puts);
  }

  /** Drops all tables that are there, and creates Omid's own and those of the crawl. */
  private void createTables() throws Exception {
    try (Admin admin = connection.getAdmin()) {
      for (TableName table : admin.listTableNames()) {
        if (admin.isTableEnabled(table)) admin.disableTable(table);
        admin.deleteTable(table);
      }
      new OmidTableManager("commit-table", "-numRegions", "1").executeActionsOnHBase(configuration);
      new OmidTableManager("timestamp-table").executeActionsOnHBase(configuration);
      for (String table : List.of("documents", "keys", "cells")) {
        ColumnFamilyDescriptorBuilder family = ColumnFamilyDescriptorBuilder.newBuilder(FAMILY);
        admin.createTable(
            TableDescriptorBuilder.newBuilder(TableName.valueOf(table))
                .setColumnFamily(family.setMaxVersions(Integer.MAX_VALUE).build())
                .build());
      }
    }
  }

  /** Starts the server with its own defaults, but for what it keeps in memory; returns its port. */
  private static int startServer() throws IOException {
    TSOServerConfig settings = new TSOServerConfig();
    try (ServerSocket free = new ServerSocket(0)) {
      settings.setPort(free.getLocalPort());
    }
    settings.setNetworkIfaceName("lo");
    settings.setConflictMapSize(CONFLICT_MAP_SIZE);
    settings.setTimestampStoreModule(new DefaultHBaseTimestampStorageModule());
    settings.setCommitTableStoreModule(new DefaultHBaseCommitTableStorageModule());
    TSOServer.getInitializedTsoServer(settings).startAsync().awaitRunning();
    return settings.getPort();
  }

  private TransactionManager connect(int port) throws Exception {
    HBaseOmidClientConfiguration settings = new HBaseOmidClientConfiguration();
    settings.setHBaseConfiguration(configuration);
    settings.setConnectionString("127.0.0.1:" + port);
    return HBaseTransactionManager.newInstance(settings);
  }

  private void putAll(String table, List<Put> puts) throws Exception {
    for (int first = 0; first < puts.size(); first += LOADED_TOGETHER) {
      List<Put> some = puts.subList(first, Math.min(puts.size(), first + LOADED_TOGETHER));
      transact(transaction -> table(table).put(transaction, some));
    }
  }

  @Override
  long cluster(int n) throws Exception {
    String id = idOfDocument(n);
    Put loaded = put(id, DOCUMENT, contentsOf(n)).addColumn(FAMILY, QUEUED, new byte[] {1});
    transact(transaction -> table("documents").put(transaction, loaded));
    return transact(transaction -> observe(transaction, id));
  }

  /** Does what the observer does (../../crawl-rate/percolator/tables.ts). */
  private void observe(Transaction transaction, String id) throws Exception {
    String[] keys = keysOf(get(transaction, "documents", id, DOCUMENT));
    List<String> missed = new ArrayList<>();
    byte[] found = null;
    for (int i = 0; i < keys.length && found == null; i++) {
      String row = (i + 1) + "/" + keys[i];
      found = get(transaction, "keys", row, REPRESENTATIVE);
      if (found == null) missed.add(row);
    }
    byte[] representative = found == null ? bytes(id) : found;
    List<Put> puts = new ArrayList<>();
    for (String row : missed) puts.add(put(row, REPRESENTATIVE, representative));
    if (!puts.isEmpty()) table("keys").put(transaction, puts);
    table("documents").put(transaction, put(id, CLUSTER, representative));
    table("documents").delete(transaction, new Delete(bytes(id)).addColumn(FAMILY, QUEUED));
  }

  @Override
  List<String> representatives(List<Integer> order) throws Exception {
    Map<String, String> found = new HashMap<>();
    Scan clusters = new Scan().addColumn(FAMILY, CLUSTER);
    Transaction transaction = transactions.begin();
    try (ResultScanner rows = table("documents").getScanner(transaction, clusters)) {
      for (Result row; (row = rows.next()) != null; ) {
        found.put(new String(row.getRow()), new String(row.getValue(FAMILY, CLUSTER)));
      }
    }
    return order.stream().map(n -> found.get(idOfDocument(n))).toList();
  }

  @Override
  void loadCells(int count) throws Exception {
    List<Put> puts = new ArrayList<>();
    for (int n = 0; n < count; n++) puts.add(put(idOf(n), VALUE, CELL_VALUE));
    putAll("cells", puts);
  }

  /** A transaction that has only read ends without a commit, which would cost more. */
  @Override
  void readCell(int n) throws Exception {
    byte[] value = get(transactions.begin(), "cells", idOf(n), VALUE);
    if (value.length != CELL_VALUE.length) throw new IllegalStateException("another value");
  }

  @Override
  void writeCell(int n) throws Exception {
    transact(transaction -> table("cells").put(transaction, put(idOf(n), VALUE, CELL_VALUE)));
  }

  private interface Body {
    void run(Transaction transaction) throws Exception;
  }

  /** Runs the body until it commits; returns the commit timestamp. */
  private long transact(Body body) throws Exception {
    while (true) {
      Transaction transaction = transactions.begin();
      body.run(transaction);
      try {
        transactions.commit(transaction);
        return ((AbstractTransaction<?>) transaction).getCommitTimestamp();
      } catch (RollbackException conflict) {
        // Another transaction has written one of these rows: once more.
      }
    }
  }

  private byte[] get(Transaction transaction, String table, String row, byte[] column)
      throws IOException {
    Get get = new Get(bytes(row)).addColumn(FAMILY, column);
    return table(table).get(transaction, get).getValue(FAMILY, column);
  }

  private static Put put(String row, byte[] column, byte[] value) {
    return new Put(bytes(row)).addColumn(FAMILY, column, value);
  }

  private TTable table(String name) {
    return tables.get().computeIfAbsent(name, this::open);
  }

  private TTable open(String name) {
    try {
      return new TTable(connection, name);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
