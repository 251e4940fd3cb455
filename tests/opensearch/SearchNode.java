import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/**
 * One OpenSearch node with k-NN on 127.0.0.1, its modules taken from the class path.
 *
 * <p>Argument: the data folder. Prints its HTTP port when it answers, and ends when its standard
 * input does, so that it never outlives who started it.
 */
public final class SearchNode extends Node {
  private static final List<Class<? extends Plugin>> MODULES =
      List.of(
          org.opensearch.transport.Netty4Plugin.class,
          org.opensearch.analysis.common.CommonAnalysisPlugin.class,
          org.opensearch.painless.PainlessPlugin.class,
          org.opensearch.knn.plugin.KNNPlugin.class);

  private SearchNode(Settings settings) {
    super(
        InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"),
        MODULES,
        false);
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream out = System.out;
    Settings settings =
        Settings.builder()
            .put("path.home", arguments[0])
            .put("cluster.name", "test")
            .put("node.name", "test")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", "0")
            .put("transport.port", "0")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .put("cluster.max_shards_per_node", 10_000)
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
    try (SearchNode node = new SearchNode(settings)) {
      node.start();
      HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
      out.println(http.boundAddress().publishAddress().getPort());
      out.flush();
      while (System.in.read() >= 0) {
        // What is written here means nothing; its end is what counts.
      }
    }
    System.exit(0);
  }
}
