package probe

import (
	"slices"
	"strings"
)

// Definition is the meaning of a fact in reports and in docs/reference/pathcheck.md.
type Definition struct{ Name, Meaning string }

// FactTable returns all facts.
func FactTable() []Definition {
	return slices.Concat(requestFacts(), clientFacts(), responseFacts())
}

// Base returns the name of a fact without the member in brackets.
func Base(name string) string {
	base, _, _ := strings.Cut(name, "[")
	return base
}

// meaning returns the meaning of a fact, or "" if the table does not contain the fact.
func meaning(name string) string {
	table := FactTable()
	if i := slices.IndexFunc(table, func(d Definition) bool { return d.Name == Base(name) }); i >= 0 {
		return table[i].Meaning
	}
	return ""
}

func requestFacts() []Definition {
	return []Definition{
		{"path.errors", "the percentage of requests that fail, although such requests arrive otherwise"},
		{"request.method", "whether common methods, and other methods such as TRACE or the WebDAV methods, arrive"},
		{"request.methodOther", "whether common methods, and other methods such as TRACE or the WebDAV methods, arrive"},
		{"request.version", "the HTTP version in which an HTTP/1.1 request arrives; HTTP/1.0 has no chunks and no WebSockets"},
		{"request.http2", "the HTTP version in which an HTTP/2 request arrives, or no if the first proxy does not accept HTTP/2"},
		{"request.path.prefix", "whether the URL's path arrives as the beginning of the request's path"},
		{"request.path.encodedSlash", "whether an escaped slash stays in its segment; the names of branches and images can contain one"},
		{"request.path.encoding", "whether characters stay escaped, and letters keep their case"},
		{"request.path.dots", "whether dot segments arrive; a proxy that routes by path must resolve them as the application does"},
		{"request.path.encodedDots", "whether dot segments arrive; a proxy that routes by path must resolve them as the application does"},
		{"request.path.doubleSlash", "whether double slashes and parameters such as ;v=1 arrive"},
		{"request.path.case", "whether characters stay escaped, and letters keep their case"},
		{"request.path.parameters", "whether double slashes and parameters such as ;v=1 arrive"},
		{"request.query", "whether the query keeps its order, duplicates, and escapes"},
		{"request.host", "whether the URL's host arrives in Host; otherwise, X-Forwarded-Host may contain it"},
		{"request.trailers", "whether a trailer (a field after the body) arrives"},
		{"request.headers.added", "which headers proxies add, remove, or change"},
		{"request.headers.removed", "which headers proxies add, remove, or change"},
		{"request.headers.changed", "which headers proxies add, remove, or change"},
		{"request.headers.case", "whether headers keep the case of their names, and their order"},
		{"request.headers.order", "whether headers keep the case of their names, and their order"},
		{"request.headers.duplicates", "what happens to a header that is sent twice"},
		{"request.headers.underscores", "whether a name with underscores, and a value that is not ASCII, arrive"},
		{"request.headers.bytes", "whether a name with underscores, and a value that is not ASCII, arrive"},
		{"request.headers.size", "the largest tested size or number that arrives"},
		{"request.headers.size.by", "the source of the limit: proxy, Echo, or none"},
		{"request.headers.number", "the largest tested size or number that arrives"},
		{"request.headers.number.by", "the source of the limit: proxy, Echo, or none"},
		{"request.url.size", "the largest tested size or number that arrives"},
		{"request.url.size.by", "the source of the limit: proxy, Echo, or none"},
	}
}

func clientFacts() []Definition {
	return []Definition{
		{"client.address", "whether the client's address arrives, is replaced (by NAT, a node, or a load balancer), or is lost"},
		{"client.address.by", "the source of the address: a header, or the connection"},
		{"client.proto", "whether a header reports this part of the URL, which applications use for links and cookies"},
		{"client.proto.by", "the header that reports the scheme"},
		{"client.host", "whether a header reports this part of the URL, which applications use for links and cookies"},
		{"client.port", "whether a header reports this part of the URL, which applications use for links and cookies"},
		{"client.spoofable", "whether a client can choose what the header in brackets reports; not found means that no try succeeded"},
		{"client.removable", "whether a client can remove the headers that proxies add, by naming them in Connection"},
		{"client.requestID", "whether the client's identifier is kept, and whether a proxy generates a missing one"},
		{"client.traceparent", "whether the client's identifier is kept, and whether a proxy generates a missing one"},
	}
}

func responseFacts() []Definition {
	return []Definition{
		{"tls.termination", "where TLS is terminated: at a proxy, at the Echo, or at both, with a second TLS connection between them"},
		{"tls.version", "the version that the server chooses"},
		{"tls.minVersion", "the oldest version that the server accepts; versions before 1.2 are not safe"},
		{"tls.cipher", "the cipher suite that the server chooses, which also depends on the client's machine"},
		{"tls.alpn", "the protocol that the server chooses; without h2, browsers use HTTP/1.1, and gRPC fails"},
		{"tls.trust", "whether clients trust the certificate, based on the authorities that browsers trust and those in --ca-file"},
		{"tls.name", "whether the certificate is for the URL's host"},
		{"tls.chain", "how many certificates the server sends; some clients distrust a chain without the intermediate certificates"},
		{"tls.daysLeft", "how many more days the certificate is valid"},
		{"body.max", "the largest tested body size that arrives"},
		{"body.max.by", "the source of the limit: proxy, Echo, or none"},
		{"body.chunked", "whether a body that is sent in chunks, without Content-Length, arrives"},
		{"body.request", "streamed if a request arrives while its body is being sent, buffered if a proxy waits for the whole body"},
		{"body.expect", "whether Expect: 100-continue arrives before the body, a proxy responds to it instead, or no one does, so that clients wait a second"},
		{"body.range", "who serves ranges of a response: the Echo, a proxy that received the whole response, or no one"},
		{"response.stream", "streamed if parts of a response arrive as they are sent, buffered if a proxy delays them"},
		{"response.status", "whether errors arrive as sent, or a proxy replaces them with its own pages"},
		{"response.headers.added", "which headers proxies add, remove, or change, compared with the headers that the Echo signs"},
		{"response.headers.removed", "which headers proxies add, remove, or change, compared with the headers that the Echo signs"},
		{"response.headers.changed", "which headers proxies add, remove, or change, compared with the headers that the Echo signs"},
		{"response.compression", "whether a proxy compresses responses; the Echo never does"},
		{"response.cached", "whether a proxy responds from a cache, which an Echo forbids by default"},
		{"response.earlyHints", "whether a response with status 103 arrives before the final one"},
		{"websocket.upgrade", "whether a connection becomes a WebSocket, with its subprotocol"},
		{"websocket.subprotocol", "whether a connection becomes a WebSocket, with its subprotocol"},
		{"websocket.messages", "whether the Echo's replies to short and long messages arrive"},
		{"websocket.proto", "the scheme that proxies report for a handshake: http, https, ws, wss, list, or not reported"},
		{"grpc.unary", "whether calls receive responses with trailers"},
		{"grpc.stream", "whether the messages of a stream arrive as they are sent"},
		{"retries.get", "how many times a proxy retries a request after a 503 response"},
		{"retries.post", "how many times a proxy retries a request after a 503 response"},
		{"retries.reset", "how many times a proxy retries a request after a connection reset; only with the outlierDetection group"},
		{"loadBalancing.pods", "how many pods respond"},
		{"loadBalancing.affinity", "whether all requests from a client reach the same pod"},
		{"loadBalancing.keepAlive", "whether a proxy keeps the client's connection open"},
		{"loadBalancing.upstream", "whether requests from different connections share one connection to the pods, which prevents load balancing"},
		{"latency.p50", "the median and the slowest of 20 responses"},
		{"latency.p99", "the median and the slowest of 20 responses"},
		{"latency.direct.p50", "the median and the slowest of 20 responses from the --direct URL"},
		{"latency.direct.p99", "the median and the slowest of 20 responses from the --direct URL"},
		{"timeouts.response", "how long a proxy waits for a response"},
		{"outlierDetection", "whether a proxy stops using pods that respond with 503 or reset connections"},
	}
}
