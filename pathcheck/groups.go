package pathcheck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
)

// group is a row in the table of groups. A group consists of related facts that a run examines together.
type group struct {
	name     string
	examine  func(context.Context, *probe.Group) error // at the same time as the other groups; may be nil
	alone    func(context.Context, *probe.Group) error // after the other groups, which it would delay or disturb; may be nil
	needs    func(*probe.Known) string                 // returns the reason why the group cannot be tested, or ""
	requests int                                       // how many requests the group usually sends
	optIn    bool                                      // examined only if it is named
}

// groups returns the table of groups. The operator's list of groups is generated from this table. Reports list facts in this order.
func groups() []group {
	return []group{
		{name: "request", examine: probe.ExamineRequest, needs: probe.Descriptions, requests: 80},
		{name: "client", examine: probe.ExamineClient, needs: probe.Descriptions, requests: 10},
		{name: "tls", examine: probe.ExamineTLS, needs: probe.Encrypted, requests: 6},
		{name: "body", examine: probe.ExamineBody, alone: probe.ExamineLargeBody, needs: probe.Descriptions, requests: 25},
		{name: "response", examine: probe.ExamineResponse, needs: probe.Nothing, requests: 40},
		{name: "websocket", alone: probe.ExamineWebSocket, needs: probe.Routes, requests: 4},
		{name: "grpc", examine: probe.ExamineGRPC, needs: probe.Routes, requests: 8},
		{name: "retries", examine: probe.ExamineRetries, needs: probe.Controls, requests: 12},
		{name: "loadBalancing", examine: probe.ExamineLoadBalancing, needs: probe.Nothing, requests: 12},
		{name: "latency", examine: probe.ExamineLatency, needs: probe.Nothing},
		{name: "timeouts", examine: probe.ExamineTimeouts, needs: probe.Controls, requests: 4, optIn: true},
		{name: "outlierDetection", alone: probe.ExamineOutlierDetection, needs: probe.Controls, requests: 30, optIn: true},
	}
}

// GroupNames returns the names of all groups, and the names of the opt-in groups, which are examined only if an option names them.
func GroupNames() (all, optIn []string) {
	for _, each := range groups() {
		all = append(all, each.name)
		if each.optIn {
			optIn = append(optIn, each.name)
		}
	}
	return all, optIn
}

// groupOf returns the name of the group that examines a fact.
func groupOf(fact string) string {
	name, _, _ := strings.Cut(fact, ".")
	switch fact {
	case "retries.reset": // makes the Echo fail for all clients, as the facts of this group do
		return "outlierDetection"
	case "rate.limit":
		return "path"
	}
	return name
}

// chosen returns the groups that the options select, and the groups that the expectations require. Its error names the flag.
func (o *Options) chosen() ([]group, error) {
	all, _ := GroupNames()
	for _, name := range o.Groups {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("--groups: unknown group %q: the groups are %s", name, strings.Join(all, ", "))
		}
	}
	return slices.DeleteFunc(groups(), func(each group) bool {
		isChosen := slices.Contains(o.Groups, each.name) || len(o.Groups) == 0 && !each.optIn
		return !isChosen && !o.requires(each)
	}), nil
}

// requires reports whether an expectation is about a fact in a group.
func (o *Options) requires(g group) bool {
	return slices.ContainsFunc(o.Expect, func(e Expectation) bool { return groupOf(e.Fact) == g.name })
}

// affordable returns the groups for which a run has enough requests and time. Groups that expectations require come first. The report
// lists the others.
func (o *Options) affordable(chosen []group, report *Report, k *probe.Known, left int, factor float64) []group {
	omitted := map[string]bool{}
	for _, required := range []bool{true, false} {
		for _, each := range chosen {
			cost := int(factor * float64(each.requests))
			switch {
			case o.requires(each) != required, each.needs(k) != "":
			case cost <= left:
				left -= cost
			default:
				omitted[each.name] = true
				report.NotTested = append(report.NotTested, NotTested{Name: each.name, Unfinished: true,
					Reason: fmt.Sprintf("left out, because %d requests are left for it, and it may need %d: use --groups", max(0, left), cost)})
			}
		}
	}
	return slices.DeleteFunc(chosen, func(g group) bool { return omitted[g.name] })
}

// runGroups examines the groups at the same time, and then what must be examined alone.
func runGroups(ctx context.Context, chosen []group, report *Report, newGroup func() *probe.Group) {
	results := make([]*probe.Group, len(chosen))
	examine := func(i int, part func(context.Context, *probe.Group) error) {
		if part == nil {
			return
		}
		if err := part(ctx, results[i]); err != nil {
			results[i].Unknown(chosen[i].name, cmp.Or(probe.DeadlineIn(ctx), err).Error())
			chosen[i].alone = nil
		}
	}
	var all sync.WaitGroup
	for i, each := range chosen {
		results[i] = newGroup()
		if reason := each.needs(results[i].Known); reason != "" {
			results[i].Skip(each.name, reason)
			chosen[i].examine, chosen[i].alone = nil, nil
		}
		all.Go(func() { examine(i, chosen[i].examine) })
	}
	all.Wait()
	for i := range chosen {
		examine(i, chosen[i].alone)
		report.Facts = append(report.Facts, results[i].Facts...)
		report.NotTested = append(report.NotTested, results[i].Skipped...)
	}
	table := FactTable()
	compare := func(a, b string) int { return cmp.Compare(probe.Place(table, a), probe.Place(table, b)) }
	slices.SortStableFunc(report.Facts, func(a, b Fact) int { return compare(a.Name, b.Name) })
	slices.SortStableFunc(report.NotTested, func(a, b NotTested) int { return compare(a.Name, b.Name) })
}
