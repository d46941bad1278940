package main

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// conversation is what a client sends, and the messages and control frames that it gets before the connection ends.
type conversation struct {
	name string
	sent []string
	want []string
}

// TestConformance checks RFC 6455 in the order of the sections of the Autobahn test suite.
func TestConformance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		for _, c := range slices.Concat(framing(), pings(), reservedBitsSet(), opcodes(), fragmentation(), texts(), closes(), limits()) {
			converse(t, listener.dial(t), c)
		}
	})
}

// TestConnectionsAreNotReset checks, with real connections, that the close frame arrives although the server has not read everything.
func TestConnectionsAreNotReset(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := handlerOf(t)
	server := newServer(h, defaultHeaderBytes, quiet)
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(newBoundedListener(listener, connectionCost, boundsOf(h.metrics))) }()
	late := textFrame(payload(512<<10)) + closeFrame(1000, "")
	for first, want := range map[string]string{
		closeFrame(1000, ""):   "close 1000",
		masked(opcodePing, ""): "close 1002",
	} {
		client := openRaw(t, dial(t, listener.Addr().String()))
		client.send(t, first+late) // before anything is read
		if got, end := client.next(t), client.next(t); !strings.HasPrefix(got, want) || end != "end" {
			t.Errorf("got %q and %q, want %q and the end", got, end, want)
		}
	}
}

func converse(t *testing.T, connection net.Conn, c conversation) {
	t.Helper()
	client := openRaw(t, connection)
	go func() {
		for _, frame := range c.sent {
			_, _ = io.WriteString(client, frame) // the server may close before it has read all
		}
	}()
	got := client.all(t)
	for i := range got { // the texts of the server's reasons are tested elsewhere
		if fields := strings.Fields(got[i]); fields[0] == "close" && len(fields) > 2 && !slices.Contains(c.want, got[i]) {
			got[i] = "close " + fields[1]
		}
	}
	if !slices.Equal(got, c.want) {
		t.Errorf("%s: got %.200q, want %.200q", c.name, got, c.want)
	}
	_ = client.Close()
}

// framing sends payloads around the sizes at which the header changes (Autobahn 1).
func framing() (all []conversation) {
	for _, size := range []int{0, 1, 124, 125, 126, 127, 128, 4081, 4086, 4087, 4096, 65535, 65536, 65537, 200_000, maxMessage} {
		text := payload(size)
		all = append(all,
			conversation{fmt.Sprintf("text of %d bytes", size), []string{textFrame(text), closeFrame(1000, "")}, []string{"text " + text, "close 1000"}},
			conversation{fmt.Sprintf("binary of %d bytes", size), []string{masked(finalBit|opcodeBinary, text), closeFrame(1000, "")}, []string{"binary " + text, "close 1000"}})
	}
	return append(all, conversation{"byte by byte", append(strings.Split(textFrame("hello"), ""), closeFrame(1000, "")), []string{"text hello", "close 1000"}})
}

// pings sends pings and pongs (Autobahn 2).
func pings() []conversation {
	largest := payload(maxControl)
	return []conversation{
		{"a ping without payload", []string{pingFrame(""), closeFrame(1000, "")}, []string{"pong ", "close 1000"}},
		{"a ping with payload", []string{pingFrame("\x00\xff\xfe"), closeFrame(1000, "")}, []string{"pong \x00\xff\xfe", "close 1000"}},
		{"the largest ping", []string{pingFrame(largest), closeFrame(1000, "")}, []string{"pong " + largest, "close 1000"}},
		{"a ping that is too large", []string{pingFrame(largest + "x")}, []string{"close 1002"}},
		{"a ping byte by byte", append(strings.Split(pingFrame(largest), ""), closeFrame(1000, "")), []string{"pong " + largest, "close 1000"}},
		{"a pong that nobody asked for", []string{masked(finalBit|opcodePong, "x"), pingFrame("y"), closeFrame(1000, "")}, []string{"pong y", "close 1000"}},
		{"many pings", []string{strings.Repeat(pingFrame("x"), 10), closeFrame(1000, "")},
			append(slices.Repeat([]string{"pong x"}, 10), "close 1000")},
	}
}

// reservedBitsSet sets reserved bits and breaks other rules of the header (Autobahn 3).
func reservedBitsSet() (all []conversation) {
	for bits := byte(0x10); bits <= 0x70; bits += 0x10 {
		for _, opcode := range []byte{opcodeText, opcodeBinary, opcodePing, opcodeClose} {
			all = append(all, conversation{fmt.Sprintf("the reserved bits %x of the opcode %d", bits, opcode),
				[]string{textFrame("first"), masked(finalBit|bits|opcode, ""), pingFrame("late")}, []string{"text first", "close 1002"}})
		}
	}
	return append(all,
		conversation{"text that is not masked", []string{"\x81\x05hello"}, []string{"close 1002"}},
		conversation{"a ping that is not masked", []string{"\x89\x00"}, []string{"close 1002"}},
		// A client must use the fewest bytes (RFC 6455, 5.2). A server may drop the connection of one that does not (10.7), but need not.
		conversation{"a long length for a short one",
			[]string{"\x81\xfe\x00\x05\x00\x00\x00\x00hello", closeFrame(1000, "")}, []string{"text hello", "close 1000"}},
		conversation{"a longer length for a long one",
			[]string{"\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x00\x00"}, []string{"close 1008"}},
		conversation{"a negative length", []string{"\x81\xff\x80\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00hello"}, []string{"close 1002"}},
	)
}

// opcodes sends all reserved opcodes (Autobahn 4).
func opcodes() (all []conversation) {
	for _, opcode := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		for _, text := range []string{"", "reserved"} {
			all = append(all, conversation{fmt.Sprintf("the opcode %d with %q", opcode, text),
				[]string{textFrame("first"), masked(finalBit|opcode, text), pingFrame("late")}, []string{"text first", "close 1002"}})
		}
	}
	return all
}

// fragmentation splits messages and puts control frames into them (Autobahn 5).
func fragmentation() []conversation {
	begin, middle, last := masked(opcodeText, "a"), masked(opcodeContinuation, "b"), masked(finalBit|opcodeContinuation, "c")
	end := closeFrame(1000, "")
	return []conversation{
		{"two fragments", []string{begin, last, end}, []string{"text ac", "close 1000"}},
		{"two fragments in one packet", []string{begin + last + end}, []string{"text ac", "close 1000"}},
		{"three fragments byte by byte", strings.Split(begin+middle+last+end, ""), []string{"text abc", "close 1000"}},
		{"empty fragments", []string{masked(opcodeText, ""), masked(opcodeContinuation, ""), masked(finalBit|opcodeContinuation, ""), end}, []string{"text ", "close 1000"}},
		{"a binary message", []string{masked(opcodeBinary, "\xff"), last, end}, []string{"binary \xffc", "close 1000"}},
		{"pings within a message", []string{begin, pingFrame("1"), middle, pingFrame("2"), masked(finalBit|opcodePong, "3"), last, end},
			[]string{"pong 1", "pong 2", "text abc", "close 1000"}},
		{"close within a message", []string{begin, end}, []string{"close 1000"}},
		{"many fragments", append(fragmentsOf(payload(20_000), 7), end), []string{"text " + payload(20_000), "close 1000"}},
		{"large fragments", append(fragmentsOf(payload(maxMessage), 100_000), end), []string{"text " + payload(maxMessage), "close 1000"}},
		{"two messages", []string{begin, last, begin, middle, last, end}, []string{"text ac", "text abc", "close 1000"}},
		{"a fragmented ping", []string{masked(opcodePing, "a"), last}, []string{"close 1002"}},
		{"a fragmented pong", []string{masked(opcodePong, "a"), last}, []string{"close 1002"}},
		{"a fragmented close frame", []string{masked(opcodeClose, "\x03\xe8")}, []string{"close 1002"}},
		{"a continuation of nothing", []string{last}, []string{"close 1002"}},
		{"an unfinished continuation of nothing", []string{middle, last}, []string{"close 1002"}},
		{"a continuation after a message", []string{textFrame("x"), last}, []string{"text x", "close 1002"}},
		{"a message within a message", []string{begin, textFrame("x")}, []string{"close 1002"}},
		{"a binary message within a text message", []string{begin, masked(opcodeBinary, "x")}, []string{"close 1002"}},
	}
}

// texts sends valid and invalid UTF-8, at once and in parts (Autobahn 6). What is invalid is found at the end of a frame: the message as a
// whole must be UTF-8 (RFC 6455, 5.6 and 8.1), and a frame that is not complete is late first.
func texts() (all []conversation) {
	for _, text := range []string{"Hello-µ@ßöäüàá-UTF-8!!", "κόσμε", "\x00", "\x7f", "\u0080", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff",
		"\ud7ff", "\ue000", "\ufffd", "\ufffe", "\U0001fffe", strings.Repeat("€", 30_000)} {
		all = append(all,
			conversation{fmt.Sprintf("%.30q", text), []string{textFrame(text), closeFrame(1000, "")}, []string{"text " + text, "close 1000"}},
			conversation{fmt.Sprintf("%.30q in fragments", text), append(fragmentsOf(text, 1+len(text)/10_000), closeFrame(1000, "")), []string{"text " + text, "close 1000"}})
	}
	for _, invalid := range []string{"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xf0\x80\x80\xaf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
		"\xed\xbf\xbf", "\xed\xa0\x80\xed\xb0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80", "\xfe", "\xff",
		"\xc2A", "\xe2\x82A", "\xf0\x9f\x98A", "\xe2\x82\xc2\xa2"} {
		text := "κόσμε" + invalid
		fragments := fragmentsOf(text+"edited", 1)
		all = append(all,
			conversation{fmt.Sprintf("%q", invalid), []string{textFrame(invalid)}, []string{"close 1007"}},
			conversation{fmt.Sprintf("%q after text", invalid), []string{textFrame(text)}, []string{"close 1007"}},
			conversation{fmt.Sprintf("%q in a frame that is not complete", invalid),
				[]string{announced(finalBit|opcodeText, 1000, text)}, []string{"close 1008"}},
			conversation{fmt.Sprintf("%q in a message that is not complete", invalid), []string{masked(opcodeText, text)}, []string{"close 1007"}},
			conversation{fmt.Sprintf("%q in fragments", invalid), fragments[:len(text)], []string{"close 1007"}},
			conversation{fmt.Sprintf("%q as binary", invalid), []string{masked(finalBit|opcodeBinary, invalid), closeFrame(1000, "")}, []string{"binary " + invalid, "close 1000"}})
	}
	for _, cut := range []string{"\xce", "\xe1\xbd", "\xf0\x9f\x98", "ok\xf4\x8f"} {
		all = append(all,
			conversation{fmt.Sprintf("%q at the end", cut), []string{textFrame(cut)}, []string{"close 1007"}},
			conversation{fmt.Sprintf("%q before an empty last fragment", cut), []string{masked(opcodeText, cut), masked(finalBit|opcodeContinuation, "")}, []string{"close 1007"}},
			conversation{fmt.Sprintf("%q at the end of one message and not of the next", cut), []string{masked(finalBit|opcodeBinary, cut), textFrame("\xbf")}, []string{"binary " + cut, "close 1007"}})
	}
	return all
}

// closes sends close frames (Autobahn 7).
func closes() (all []conversation) {
	for _, code := range []uint16{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999} {
		all = append(all, conversation{fmt.Sprintf("the code %d", code), []string{closeFrame(code, "bye ä")}, []string{fmt.Sprintf("close %d bye ä", code)}})
	}
	for _, code := range []uint16{0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535} {
		all = append(all, conversation{fmt.Sprintf("the code %d", code), []string{closeFrame(code, "bye")}, []string{"close 1002"}})
	}
	longest := payload(maxControl - 2)
	return append(all,
		conversation{"no code", []string{masked(finalBit|opcodeClose, "")}, []string{"close"}},
		conversation{"half a code", []string{masked(finalBit|opcodeClose, "\x03")}, []string{"close 1002"}},
		conversation{"the longest reason", []string{closeFrame(1000, longest)}, []string{"close 1000 " + longest}},
		conversation{"a reason that is too long", []string{closeFrame(1000, longest+"x")}, []string{"close 1002"}},
		// The server does not interpret the reason (RFC 6455, 5.5.1), so that its bytes need not be valid UTF-8 for it (8.1).
		conversation{"a reason that is not UTF-8",
			[]string{closeFrame(1000, "\xce\xba\xed\xa0\x80")}, []string{"close 1000 \xce\xba\xed\xa0\x80"}},
		conversation{"a reason that is cut", []string{closeFrame(1000, "\xce")}, []string{"close 1000 \xce"}},
		conversation{"two close frames", []string{closeFrame(1000, "") + closeFrame(1001, "")}, []string{"close 1000"}},
		conversation{"a ping after closing", []string{closeFrame(1000, ""), pingFrame("late")}, []string{"close 1000"}},
		conversation{"a message after closing", []string{closeFrame(1000, ""), textFrame(payload(256 << 10)), pingFrame("late")}, []string{"close 1000"}},
	)
}

// limits sends messages over the limit (Autobahn 9). The limit is for what has been received (RFC 6455, 7.4.1 and 10.4). What is announced
// and does not come is late.
func limits() []conversation {
	const over = maxMessage + 1
	return []conversation{
		{"a frame over the limit", []string{textFrame(payload(over))}, []string{"close 1009"}},
		{"the header of a frame over the limit", []string{announced(finalBit|opcodeBinary, over, "")}, []string{"close 1008"}},
		{"the largest header", []string{"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"}, []string{"close 1008"}},
		{"a fragment over the limit", []string{masked(opcodeBinary, payload(maxMessage)), masked(opcodeContinuation, "x")}, []string{"close 1009"}},
		{"the header of a fragment over the limit",
			[]string{masked(opcodeText, "x"), announced(finalBit|opcodeContinuation, maxMessage, "")}, []string{"close 1008"}},
		{"an empty fragment at the limit", []string{masked(opcodeBinary, payload(maxMessage)), masked(finalBit|opcodeContinuation, ""), closeFrame(1000, "")},
			[]string{"binary " + payload(maxMessage), "close 1000"}},
	}
}
