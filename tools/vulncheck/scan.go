package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// scan is what govulncheck found in programs.
type scan struct {
	name     string
	own      bool      // whether the programs are the project's
	database time.Time // when it was modified
	findings []finding // the most important one for each ID, ordered by ID
}

// finding is a vulnerability in a package that programs contain.
type finding struct {
	id      string
	module  string
	version string
	fixed   string // empty: in no version
	symbol  string
	caller  string // in source code: the first caller
	effect  effect
}

// effect is what a vulnerability can do to programs.
type effect int

const (
	imported effect = iota // the programs contain the package, but not its vulnerable part
	linked                 // the programs contain the symbol, but whether they call it is unknown
	reached                // the code calls the symbol
)

func (effect effect) String() string {
	return [...]string{"imported", "linked", "reached"}[effect]
}

// message is the part of govulncheck's JSON that is read: see golang.org/x/vuln/internal/govulncheck.
type message struct {
	Config *struct {
		ProtocolVersion string    `json:"protocol_version"`
		DBLastModified  time.Time `json:"db_last_modified"`
		ScanLevel       string    `json:"scan_level"`
		ScanMode        string    `json:"scan_mode"`
	}
	Finding *struct {
		OSV          string
		FixedVersion string `json:"fixed_version"`
		Trace        []frame
	}
}

// frame is a call. The first frame of a trace is in the vulnerable module. The calls begin at the last one.
type frame struct {
	Module, Version, Package, Function, Receiver string
}

func (frame frame) symbol() string {
	if frame.Receiver != "" {
		return fmt.Sprintf("%s.%s.%s", frame.Package, frame.Receiver, frame.Function)
	}
	return fmt.Sprintf("%s.%s", frame.Package, frame.Function)
}

// parseScan reads govulncheck's JSON. It leaves out vulnerabilities in modules whose vulnerable packages are not part of the programs.
func parseScan(content []byte) (scan, error) {
	var messages []message
	for decoder := json.NewDecoder(bytes.NewReader(content)); decoder.More(); {
		var next message
		if err := decoder.Decode(&next); err != nil {
			return scan{}, err
		}
		messages = append(messages, next)
	}
	if len(messages) == 0 || messages[0].Config == nil {
		return scan{}, errors.New("this is not govulncheck JSON")
	}
	config := messages[0].Config
	if config.ProtocolVersion != "v1.0.0" || config.ScanLevel != "symbol" {
		return scan{}, fmt.Errorf("protocol %q, scan level %q: want v1.0.0, symbol", config.ProtocolVersion, config.ScanLevel)
	}
	worst := map[string]finding{}
	for _, each := range messages {
		if each.Finding == nil || len(each.Finding.Trace) == 0 || each.Finding.Trace[0].Package == "" {
			continue
		}
		found := newFinding(each.Finding.OSV, each.Finding.FixedVersion, each.Finding.Trace, config.ScanMode == "source")
		if known, ok := worst[found.id]; !ok || found.effect > known.effect {
			worst[found.id] = found
		}
	}
	findings := slices.SortedFunc(maps.Values(worst), func(a, b finding) int { return cmp.Compare(a.id, b.id) })
	return scan{database: config.DBLastModified, findings: findings}, nil
}

func newFinding(id, fixed string, trace []frame, source bool) finding {
	first, last := trace[0], trace[len(trace)-1]
	found := finding{id: id, module: first.Module, version: first.Version, fixed: fixed}
	switch {
	case first.Function == "":
		found.symbol = first.Package
	case source:
		found.effect, found.symbol, found.caller = reached, first.symbol(), last.symbol()
	default:
		found.effect, found.symbol = linked, first.symbol()
	}
	return found
}
