package probe

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// spoofed is an address that no client has (RFC 5737). spoofedHost and spoofedScheme are a host and a scheme that no URL has.
const spoofed, spoofedHost, spoofedScheme = "192.0.2.123", "spoofed.example", "spoofed"

// spoofing is a header with which a client could impersonate a proxy.
type spoofing struct {
	fact string
	sent []wire.Field
}

// spoofings returns the headers to test, including the other headers in which this path reports the client's address.
func spoofings(others []string) (all []spoofing) {
	for _, each := range addressHeaders() {
		value := spoofed
		switch each.name {
		case "Forwarded":
			value = "for=" + spoofed
		case "Cloudfront-Viewer-Address":
			value += ":443"
		}
		all = append(all, spoofing{each.fact, wire.Fields(each.name, value)})
	}
	if len(others) > 0 {
		other := spoofing{"client.spoofable.other", nil}
		for _, name := range others {
			other.sent = append(other.sent, wire.Field{Name: name, Value: spoofed})
		}
		all = append(all, other)
	}
	return append(all,
		spoofing{"client.spoofable.host", wire.Fields("X-Forwarded-Host", spoofedHost)},
		spoofing{"client.spoofable.proto", wire.Fields("X-Forwarded-Proto", spoofedScheme)})
}

// examineSpoofing sends all spoofed headers at once. If the request is refused, it sends each header alone to find the cause.
func examineSpoofing(ctx context.Context, g *Group) error {
	plain := g.Known.Plain
	all := spoofings(otherHeaders(plain.Local.Addr(), plain.Description))
	var fields []wire.Field
	for _, each := range all {
		fields = append(fields, each.sent...)
	}
	together, err := g.Ask(ctx, &wire.Request{Path: PlainPath, Fields: fields})
	if err != nil {
		return err
	}
	for _, each := range all {
		o := together
		if together.Refusal != "" {
			if o, err = g.Ask(ctx, &wire.Request{Path: PlainPath, Fields: each.sent}); err != nil {
				return err
			}
		}
		f := decideSpoofing(each, o)
		f.Detail = !each.matters(plain.Description)
		g.Add(f)
	}
	return nil
}

// matters reports whether most applications read a header or this path sets it.
func (s *spoofing) matters(plain *wire.Description) bool {
	most := []string{"client.spoofable", "client.spoofable.forwarded", "client.spoofable.host", "client.spoofable.proto"}
	return slices.Contains(most, s.fact) || slices.ContainsFunc(s.sent, func(f wire.Field) bool { return plain.Has(f.Name) })
}

// decideSpoofing determines whether a spoofed value arrives, and whether another value follows it.
func decideSpoofing(s spoofing, o Outcome) Fact {
	sent := describeFields(s.sent)
	e := o.Described()
	if e == nil {
		return Refused(s.fact, sent, o.Refusal)
	}
	value := No
	var received []wire.Field
	for _, each := range s.sent {
		received = append(received, wire.Field{Name: each.Name, Value: strings.Join(e.Values(each.Name), ", ")})
		if value != Yes {
			value = cmp.Or(placeOfSpoofed(each.Name, e), value)
		}
	}
	return NewFact(s.fact, value, sent, describeFields(received))
}

// placeOfSpoofed returns "yes" if the last element of a list is spoofed, "in front" if another element follows a spoofed one, or "" if none
// is spoofed.
func placeOfSpoofed(header string, e *wire.Description) (place string) {
	for _, each := range e.Reported(header, "for") {
		isSpoofed := each == spoofedHost || each == spoofedScheme || slices.Contains(addressesIn(each), netip.MustParseAddr(spoofed))
		switch {
		case isSpoofed:
			place = Yes
		case place != "":
			place = "in front"
		}
	}
	return place
}

func describeFields(fields []wire.Field) string {
	var texts []string
	for _, each := range fields {
		texts = append(texts, each.String())
	}
	return strings.Join(texts, "; ")
}
