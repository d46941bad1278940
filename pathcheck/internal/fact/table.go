package fact

import "slices"

// Definition is what a fact says, in a report and in docs/reference/pathcheck.md.
type Definition struct{ Name, Meaning string }

// Table returns all facts.
func Table() []Definition {
	return slices.Concat(requestFacts(), headerFacts(), clientFacts(), spoofingFacts(), tlsFacts(), bodyFacts(), responseFacts(), otherFacts())
}

// meaning returns what a fact says, "" for one that is not in the table.
func meaning(name string) string {
	table := Table()
	if i := slices.IndexFunc(table, func(d Definition) bool { return d.Name == name }); i >= 0 {
		return table[i].Meaning
	}
	return ""
}

func requestFacts() []Definition {
	return []Definition{
		{"request.method", "whether common methods arrive, and others such as TRACE or those of WebDAV"},
		{"request.methodOther", "whether common methods arrive, and others such as TRACE or those of WebDAV"},
		{"request.version", "the version with which an HTTP/1.1 request arrives; HTTP/1.0 has no chunks and no WebSockets"},
		{"request.http2", "the version with which an HTTP/2 request arrives, or no if the first proxy does not accept HTTP/2"},
		{"request.path.prefix", "whether the path of the URL arrives in front of the path of the request"},
		{"request.path.encodedSlash", "whether an escaped slash stays in its segment; names of branches and images can have one"},
		{"request.path.encoding", "whether characters stay escaped, and letters keep their case"},
		{"request.path.dots", "whether dot segments arrive; a proxy that routes by path must resolve them as the application does"},
		{"request.path.encodedDots", "whether dot segments arrive; a proxy that routes by path must resolve them as the application does"},
		{"request.path.doubleSlash", "whether double slashes and parameters such as ;v=1 arrive"},
		{"request.path.case", "whether characters stay escaped, and letters keep their case"},
		{"request.path.parameters", "whether double slashes and parameters such as ;v=1 arrive"},
		{"request.query", "whether the query keeps its order, duplicates and escapes"},
		{"request.host", "whether the host of the URL arrives in Host; otherwise X-Forwarded-Host may have it"},
		{"request.trailers", "whether a field after the body arrives"},
	}
}

func headerFacts() []Definition {
	return []Definition{
		{"request.headers.added", "which headers proxies add, remove or change"},
		{"request.headers.removed", "which headers proxies add, remove or change"},
		{"request.headers.changed", "which headers proxies add, remove or change"},
		{"request.headers.case", "whether headers keep the case of their names, and their order"},
		{"request.headers.order", "whether headers keep the case of their names, and their order"},
		{"request.headers.duplicates", "what happens to a header that is sent twice"},
		{"request.headers.underscores", "whether a name with underscores, and a value that is not ASCII, arrive"},
		{"request.headers.bytes", "whether a name with underscores, and a value that is not ASCII, arrive"},
		{"request.headers.size", "the most that arrives, of the sizes and numbers tried"},
		{"request.headers.size.by", "who refuses more: proxy, Echo or none"},
		{"request.headers.number", "the most that arrives, of the sizes and numbers tried"},
		{"request.headers.number.by", "who refuses more: proxy, Echo or none"},
		{"request.url.size", "the most that arrives, of the sizes and numbers tried"},
		{"request.url.size.by", "who refuses more: proxy, Echo or none"},
	}
}

func clientFacts() []Definition {
	return []Definition{
		{"client.address", "whether the address of the client arrives, is replaced (by a NAT, a node or a load balancer), or is lost"},
		{"client.address.by", "what reports the address: a header, or the connection"},
		{"client.proto", "whether a header reports this part of the URL, which applications use for links and cookies"},
		{"client.proto.by", "the header that reports the scheme"},
		{"client.host", "whether a header reports this part of the URL, which applications use for links and cookies"},
		{"client.port", "whether a header reports this part of the URL, which applications use for links and cookies"},
		{"client.removable", "whether a client can remove the headers that proxies add, by naming them in Connection"},
		{"client.requestID", "whether the identifier of a client is kept, and whether a proxy generates a missing one"},
		{"client.traceparent", "whether the identifier of a client is kept, and whether a proxy generates a missing one"},
	}
}

// spoofingFacts returns whether a client can choose what a header reports, which is often the address.
func spoofingFacts() (all []Definition) {
	for _, each := range []struct{ fact, header string }{
		{"client.spoofable", "X-Forwarded-For"},
		{"client.spoofable.forwarded", "Forwarded"},
		{"client.spoofable.host", "X-Forwarded-Host"},
		{"client.spoofable.proto", "X-Forwarded-Proto"},
		{"client.spoofable.realIP", "X-Real-IP"},
		{"client.spoofable.clientIP", "X-Client-IP"},
		{"client.spoofable.trueClientIP", "True-Client-IP (Akamai, Cloudflare)"},
		{"client.spoofable.cfConnectingIP", "CF-Connecting-IP (Cloudflare)"},
		{"client.spoofable.cfConnectingIPv6", "CF-Connecting-IPv6 (Cloudflare)"},
		{"client.spoofable.envoyExternalAddress", "X-Envoy-External-Address"},
		{"client.spoofable.originalForwardedFor", "X-Original-Forwarded-For (ingress-nginx)"},
		{"client.spoofable.clusterClientIP", "X-Cluster-Client-IP"},
		{"client.spoofable.fastlyClientIP", "Fastly-Client-IP"},
		{"client.spoofable.flyClientIP", "Fly-Client-IP"},
		{"client.spoofable.azureClientIP", "X-Azure-ClientIP"},
		{"client.spoofable.azureSocketIP", "X-Azure-SocketIP"},
		{"client.spoofable.appengineUserIP", "X-Appengine-User-IP (Google)"},
		{"client.spoofable.cloudfrontViewerAddress", "CloudFront-Viewer-Address"},
		{"client.spoofable.doConnectingIP", "DO-Connecting-IP (DigitalOcean)"},
		{"client.spoofable.wlProxyClientIP", "WL-Proxy-Client-IP (WebLogic)"},
		{"client.spoofable.other", "other headers that have the address on this path"},
	} {
		all = append(all, Definition{each.fact, "whether a client can choose " + each.header})
	}
	return all
}

func tlsFacts() []Definition {
	return []Definition{
		{"tls.ends", "where TLS ends: at a proxy, at the Echo, or at both, with another connection between them"},
		{"tls.version", "the version that the server chooses"},
		{"tls.minVersion", "the oldest version that the server accepts; before 1.2 is not safe"},
		{"tls.cipher", "the cipher suite that the server chooses, which also depends on the machine of the client"},
		{"tls.alpn", "the protocol that the server chooses; without h2, browsers use HTTP/1.1, and gRPC fails"},
		{"tls.trust", "whether clients trust the certificate: by the authorities of browsers and --ca-file"},
		{"tls.name", "whether the certificate is for the host of the URL"},
		{"tls.chain", "how many certificates the server sends; some clients distrust a chain without the intermediate ones"},
		{"tls.daysLeft", "how many days the certificate is still valid"},
	}
}

func bodyFacts() []Definition {
	return []Definition{
		{"body.max", "the largest body that arrives, of the sizes tried"},
		{"body.max.by", "who refuses more: proxy, Echo or none"},
		{"body.chunked", "whether a body arrives that is sent in chunks, without Content-Length"},
		{"body.request", "streamed if a request arrives while its body is sent, buffered if a proxy waits for all of it"},
		{"body.expect", "who answers Expect: 100-continue: the Echo, a proxy, or no one, so that clients wait a second"},
		{"body.range", "who serves ranges of a response: the Echo, a proxy from a whole response, or no one"},
	}
}

func responseFacts() []Definition {
	return []Definition{
		{"response.stream", "streamed if parts of a response arrive when they are sent, buffered if a proxy holds them"},
		{"response.status", "whether errors arrive as sent, or a proxy replaces them with its own pages"},
		{"response.headers.added", "which headers proxies add, remove or change; spec.response.headers counts as added"},
		{"response.headers.removed", "which headers proxies add, remove or change; spec.response.headers counts as added"},
		{"response.headers.changed", "which headers proxies add, remove or change; spec.response.headers counts as added"},
		{"response.compression", "whether a proxy compresses responses; the Echo never does"},
		{"response.cached", "whether a proxy responds from a cache, which an Echo forbids by default"},
		{"response.earlyHints", "whether a response with status 103 arrives before the final one"},
	}
}

func otherFacts() []Definition {
	return []Definition{
		{"websocket.upgrade", "whether a connection becomes a WebSocket, with its sub-protocol"},
		{"websocket.subprotocol", "whether a connection becomes a WebSocket, with its sub-protocol"},
		{"websocket.messages", "whether short and long messages come back"},
		{"websocket.proto", "the scheme that proxies report of a handshake: http, https, ws, wss, list or not reported"},
		{"websocket.http2", "whether the path announces WebSockets over HTTP/2, and forwards them"},
		{"grpc.unary", "whether calls come back with their trailers"},
		{"grpc.stream", "whether the messages of a stream arrive when they are sent"},
		{"retries.get", "how often a proxy repeats a request that got 503"},
		{"retries.post", "how often a proxy repeats a request that got 503"},
		{"retries.reset", "how often a proxy repeats a request after a reset; only with outlierDetection"},
		{"loadBalancing.pods", "how many pods respond"},
		{"loadBalancing.affinity", "whether a client stays with one pod"},
		{"loadBalancing.keepAlive", "whether a proxy keeps the connection of the client open"},
		{"loadBalancing.upstream", "whether requests of different connections share one to the pods, which then cannot be balanced"},
		{"latency.p50", "the median and the slowest of 20 responses"},
		{"latency.p99", "the median and the slowest of 20 responses"},
		{"latency.direct.p50", "the median and the slowest of 20 responses by --direct"},
		{"latency.direct.p99", "the median and the slowest of 20 responses by --direct"},
		{"timeouts.response", "how long a proxy waits for a response"},
		{"outlierDetection", "whether a proxy stops using pods that respond with 503 or reset connections"},
	}
}
