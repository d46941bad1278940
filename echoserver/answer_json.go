package main

import (
	"maps"
	"slices"
)

// answerCapacity is the initial size of the buffer of a response, in bytes. Nearly all responses fit.
const answerCapacity = 4 << 10

// json appends the answer as JSON to the buffer, by the json tags of its types; a test compares it with encoding/json.
func (a *answer) json(buffer []byte) []byte {
	w := &jsonWriter{data: buffer}
	w.group("{}", func() {
		w.text("path", a.Path)
		w.text("host", a.Host)
		w.text("method", a.Method)
		w.text("proto", a.Proto)
		w.lists("headers", a.Headers)
		w.text("httpPort", a.Port)
		w.textIf("namespace", a.Namespace)
		w.textIf("ingress", a.Ingress)
		w.textIf("service", a.Service)
		w.textIf("pod", a.Pod)
		if a.TLS != nil {
			w.object("tls", func() { a.TLS.write(w) })
		}
		w.object("request", func() { a.Request.write(w) })
		w.object("client", func() { a.Client.write(w) })
		if a.Trace != nil {
			w.object("trace", func() { a.Trace.write(w) })
		}
		w.object("server", func() { a.Server.write(w) })
		if a.Applied != nil {
			w.object("applied", func() { a.Applied.write(w) })
		}
	})
	return append(w.data, '\n')
}

func (r *request) write(w *jsonWriter) {
	w.text("id", r.ID)
	w.time("time", r.Time)
	if len(r.Query) > 0 {
		w.lists("query", r.Query)
	}
	w.listIf("headerNames", r.HeaderNames)
	w.number("contentLength", r.ContentLength)
	if r.Body != nil {
		w.object("body", func() { r.Body.write(w) })
	}
	if len(r.Trailers) > 0 {
		w.lists("trailers", r.Trailers)
	}
}

func (b *body) write(w *jsonWriter) {
	w.number("size", b.Size)
	w.text("sha256", b.SHA256)
	if b.Encoding == encodingBase64 {
		w.withoutEscapes("data", b.Data)
	} else {
		w.text("data", b.Data)
	}
	w.text("encoding", b.Encoding)
	w.booleanIf("truncated", b.Truncated)
}

func (c *client) write(w *jsonWriter) {
	w.textIf("remoteAddress", c.Remote)
	w.textIf("address", c.Address)
	w.listIf("forwardedFor", c.ForwardedFor)
	if len(c.Forwarded) > 0 {
		w.member("forwarded")
		w.group("[]", func() {
			for i := range c.Forwarded {
				w.element()
				w.group("{}", func() { c.Forwarded[i].write(w) })
			}
		})
	}
	if c.Certificate != nil {
		w.object("certificate", func() { c.Certificate.write(w) })
	}
}

func (p *forwardedPair) write(w *jsonWriter) {
	w.textIf("for", p.For)
	w.textIf("by", p.By)
	w.textIf("host", p.Host)
	w.textIf("proto", p.Proto)
}

func (t *trace) write(w *jsonWriter) {
	w.text("version", t.Version)
	w.text("traceId", t.TraceID)
	w.text("parentId", t.ParentID)
	w.boolean("sampled", t.Sampled)
}

func (s *server) write(w *jsonWriter) {
	w.textIf("node", s.Node)
	w.textIf("podIP", s.PodIP)
	w.textIf("hostIP", s.HostIP)
	w.textIf("version", s.Version)
	w.textIf("uptime", s.Uptime)
	w.booleanIf("draining", s.Draining)
	if len(s.Info) == 0 {
		return
	}
	w.object("info", func() {
		for _, each := range slices.Sorted(maps.Keys(s.Info)) {
			w.text(each, s.Info[each])
		}
	})
}

func (a *applied) write(w *jsonWriter) {
	w.numberIf("status", a.Status)
	w.textIf("delay", a.Delay)
	w.listIf("setHeader", a.SetHeader)
	if a.Size != nil {
		w.number("size", int64(*a.Size))
	}
	w.textIf("format", string(a.Format))
	w.numberIf("percentage", a.Percentage)
	w.numberIf("failures", a.Failures)
	w.booleanIf("earlyHints", a.EarlyHints)
	w.textIf("connection", string(a.Connection))
	if a.Fault != nil {
		w.number("fault", int64(*a.Fault))
	}
}
