import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/** HTTP of the JDK: `java -Dsun.net.httpserver.nodelay=true Web.java MODE PORT`. */
class Web {
    /** Connections to something that answers after 4 ms. */
    private static final Semaphore POOL = new Semaphore(4);

    static String pooled() throws InterruptedException {
        POOL.acquire();
        try {
            Thread.sleep(4);
        } finally {
            POOL.release();
        }
        return "1\n";
    }

    static String worked() {
        var random = new java.util.Random(1);
        return random.ints(4_000).sorted().sum() + "\n";
    }

    public static void main(String[] words) throws Exception {
        boolean isPooled = words[0].equals("pool");
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[1])), 0);
        server.setExecutor(Executors.newFixedThreadPool(64));
        server.createContext("/", exchange -> {
            try {
                byte[] text = (isPooled ? pooled() : worked()).getBytes();
                exchange.sendResponseHeaders(200, text.length);
                exchange.getResponseBody().write(text);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            } finally {
                exchange.close();
            }
        });
        server.start();
    }
}
