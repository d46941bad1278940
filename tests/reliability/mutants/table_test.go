package mutants

import "slices"

// mutant is a bug.
type mutant struct {
	name string
	// file is where it is, old what the file has, and new what it has with the bug.
	file, old, new string
	// by is the pattern of the test that must catch it, and in the package of that.
	by, in string
}

const (
	simulation = "./tests/reliability"
	reconciler = "./controllers"
	builders   = "./internal/children"
	texts      = "./internal/status"
)

func mutants() []mutant { return slices.Concat(textbook(), found(), own()) }

// textbook are the bugs that operators have most often.
func textbook() []mutant {
	return []mutant{
		{"the finalizer is removed while something is left", "controllers/deletion.go",
			"case left.any():", "case left.any() && echo.Generation < 0:", "TestScenarios", simulation},
		{"an error is swallowed", "controllers/converge.go",
			"status.Attempt{Kind: c.Kind, Before: live, Err: err})\n\t\treturn err", "status.Attempt{Kind: c.Kind, Before: live, Err: err})\n\t\treturn nil", "TestSingleFaults/plans/^a_child_deleted:_5", simulation},
		{"a conflict is final", "internal/status/failure.go",
			"case apierrors.IsForbidden(err):", "case apierrors.IsConflict(err):\n\t\treturn &Failure{Err: err, NoRetry: true}\n\tcase apierrors.IsForbidden(err):", "TestSingleFaults/plans/^create:", simulation},
		{"an Echo is written whatever has changed", "controllers/echo_patch.go",
			"p.Metadata.ResourceVersion = echo.ResourceVersion", "p.Metadata.ResourceVersion = \"\"", "TestAStatusOfAnOldEchoIsRejected", reconciler},
		{"a CronJob is created of which the status does not tell", "controllers/check_controller.go",
			"!status.NamesAllChecks(echo)", "len(echo.Name) == 0", "TestStatusNamesACheckBeforeItsCronJob", reconciler},
		{"the cache is believed of CronJobs", "controllers/check_controller.go",
			"readChild(ctx, r.Live, children.CronJob", "readChild(ctx, r.Client, children.CronJob", "TestCronJobOfAFormerCheckIsDeletedThoughTheCacheLacksIt", reconciler},
		{"objects of others are taken over", "controllers/observe.go",
			"live == nil || metav1.IsControlledBy(live, echo) {\n\t\treturn live, err\n\t}\n\treturn nil, &", "live == nil || !metav1.IsControlledBy(live, echo) {\n\t\treturn live, err\n\t}\n\treturn nil, &", "TestScenarios", simulation},
		{"the cache is believed", "controllers/observe.go",
			"live, err = readChild(ctx, r.Live, c)", "live, err = readChild(ctx, r.Client, c)", "TestScenarios", simulation},
	}
}

// found are the bugs that a search found in this operator.
func found() []mutant {
	return []mutant{
		{"a status that somebody else edits stays", "controllers/echo_watches.go",
			"builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})", "builder.WithPredicates(echoChanged())", "TestScenarios", simulation},
		{"an item that is added to an atomic map is not seen", "internal/children/compare.go",
			"if fields.owned.Equals(fields.wanted.Difference(identity())) {\n\t\tif same, err := s.hasValues(c, want, have); err != nil || same {",
			"if fields.wanted.Difference(identity()).Difference(fields.there).Empty() {\n\t\tif same, err := s.hasValues(c, have, want); err != nil || same {", "TestScenarios", simulation},
		{"what is left empty is not stated", "internal/children/network_policy.go",
			`policy.Object["spec"].(map[string]any)["egress"] = []any{}`, "_ = policy", "TestScenarios", simulation},
		{"an edited merge key is not put right", "internal/children/compare.go",
			"if s.isRenamed(c, have, missing, other) {", "if s.isRenamed(c, have, missing, other) && false {", "TestScenarios", simulation},
		{"every 422 is the user's fault", "internal/status/failure.go",
			"adviceOnService(err), Reason: v1.ReasonInvalidSpec}", "adviceOnService(err), Reason: v1.ReasonInvalidSpec, NoRetry: true}", "TestSingleFaults/plans/^create:", simulation},
		{"a deletion that fails says nothing", "controllers/deletion.go",
			"status.EvaluateDeletion(echo, seen, failure, r.Now())", "status.EvaluateDeletion(echo, seen, nil, r.Now())", "Test", reconciler},
		{"conflicts are retried at a fixed rate", "controllers/failures.go",
			"max(firstRetry, lasts)", "firstRetry", "TestAConflictIsRetriedLessAndLessOften", reconciler},
		{"the policy of an image that is pulled is left to the server", "internal/children/container.go",
			"WithImagePullPolicy(pullPolicy(echo.Spec.ImagePullPolicy, image))", "WithImagePullPolicy(echo.Spec.ImagePullPolicy)", "Test", builders},
		{"the class of an Ingress is not unset", "internal/children/compare.go",
			"replace := c.anew != nil && c.anew(", "replace := false && c.anew != nil && c.anew(", "TestOnlyAClassThatIsNoLongerSetReplacesAnIngress", builders},
		{"an Echo waits for pods that nobody deletes", "controllers/deletion.go",
			"const orphanedAfter = time.Minute", "const orphanedAfter = 1000 * time.Hour", "TestScenarios", simulation},
		{"the numbers of what is gone are told", "controllers/observe.go",
			"seen.NoDeployment = live[i] == nil", "_ = live[i]", "Test", reconciler},
		{"a quantity that the server rounds is applied in each pass", "internal/children/container.go",
			"quantity.RoundUp(resource.Milli)", "_ = quantity", "TestQuantitiesAreRoundedAsTheAPIServerDoes", builders},
		{"a failure is told at once", "controllers/failures.go",
			"const tolerance = 2 * time.Second", "const tolerance = 0 * time.Second", "TestSingleFaults/plans/^create:", simulation},
		{"what happened is forgotten when a status cannot be written", "controllers/publish.go",
			"return news.changes\n}", "return made\n}", "TestSingleFaults/plans/^create:", simulation},
		{"a write that was done without an answer is forgotten", "controllers/publish.go",
			"news.unsure[attempt.Kind] = attempt.Before", "_ = attempt", "TestSingleFaults/plans/^create:", simulation},
		{"a pass is made before the cache holds the operator's own writes", "controllers/own_writes.go",
			"len(w.awaited) > 0 && wait > 0", "len(w.awaited) < 0 && wait > 0", "TestNoPassIsMadeBeforeTheCacheHoldsTheOperatorsOwnWrite", reconciler},
		{"a status of 404 ends a pass for good", "internal/status/failure.go",
			"case apierrors.IsForbidden(err):", "case apierrors.IsNotFound(err):\n\t\treturn &Failure{Err: err, NoRetry: true}\n\tcase apierrors.IsForbidden(err):", "TestSingleFaults/plans/^create:", simulation},
	}
}

// own are bugs that nobody found yet.
func own() []mutant {
	return []mutant{
		{"what others do during a pass is forgotten", "controllers/own_writes.go",
			"w.held = append(w.held, heldEvent{version, deliver})", "_ = heldEvent{version, deliver}", "TestOwnWritesStartNoPasses", reconciler},
		{"the edit that an own write hides is taken for the own write", "controllers/own_writes.go",
			"own := slices.Contains(w.awaited[held.uid], held.resourceVersion)", "own := slices.Contains(w.awaited[held.uid], held.resourceVersion) || len(w.awaited[held.uid]) > 0", "Test", reconciler},
		{"a pass that waits for the cache is forgotten", "controllers/own_writes.go",
			"w.skipped = true\n\t\treturn wait", "return wait", "TestAPassWaitsForTheCache", reconciler},
		{"what others do during a pass is forgotten with the expectations", "controllers/own_writes.go",
			"w.skipped = false\n\t\to.release(echo, w)", "delete(o.of, echo)", "TestOwnWrites_clear", reconciler},
		{"versions that were not compared are taken for those that were", "controllers/compared.go",
			"slices.Equal(c.versions, other.versions)", "(slices.Equal(c.versions, other.versions) || len(c.versions) > 0)", "TestScenarios", simulation},
		{"children that were applied are taken for those that were compared", "controllers/compared.go",
			"live[i] != seen.AsWanted[c.Kind] || ", "", "Test", reconciler},
		{"a new child is merged into what exists", "controllers/converge.go",
			"identity := objectVersion{resourceVersion: noVersion}", "identity := objectVersion{}", "TestScenarios", simulation},
		{"a child is applied whatever took its place", "controllers/converge.go",
			"identity = objectVersion{uid: live.GetUID()}", "identity = objectVersion{}", "Test", reconciler},
		{"a new child is forced", "controllers/converge.go",
			"options := []client.PatchOption{client.FieldOwner(children.FieldOwner)}", "options := []client.PatchOption{client.FieldOwner(children.FieldOwner), client.ForceOwnership}", "Test", reconciler},
		{"what a webhook changes is taken for an own write", "controllers/echo_patch.go",
			"if answer.Generation == echo.Generation {", "if answer.Generation >= 0 {", "Test", reconciler},
		{"what is left of a deleted Echo is looked for in the cache alone", "controllers/observe.go",
			"place{r.Live, r.read, livePodsOf}", "place{r.Client, r.readCached, cachedPodsOf}", "Test", reconciler},
		{"what is no longer wanted is kept", "controllers/converge.go",
			"if c.Want == nil {\n\t\treturn r.prune(ctx, live)", "if c.Want == nil {\n\t\treturn nil", "TestScenarios", simulation},
		{"companions are left when their Echo goes", "controllers/deletion.go",
			"for i := range left.companions {", "for i := range left.companions[:0] {", "Test", reconciler},
		{"nobody looks whether the pods are gone", "controllers/deletion.go",
			"return nextDeletionCheck(r.Now().Sub(echo.DeletionTimestamp.Time)), r.classify(echo, unwritten)", "return 0, r.classify(echo, unwritten)", "Test", reconciler},
		{"events are sent before the status is written", "controllers/publish.go",
			"	if !sameStatus(&echo.Status, &report.Status) {", "	r.announce(ctx, echo, report.Transitions...)\n	if !sameStatus(&echo.Status, &report.Status) {", "TestSingleFaults/plans/^create:", simulation},
		{"an object is deleted whatever it is by now", "controllers/converge.go",
			"client.Preconditions{UID: &uid, ResourceVersion: &version})", "client.GracePeriodSeconds(int64(len(uid)+len(version))))", "TestSingleFaults/plans/prune:_the_object_replaced", simulation},
		{"failures are not retried", "controllers/failures.go",
			"return ctrl.Result{}, failure.Err", "return ctrl.Result{}, nil", "TestSingleFaults/plans/^create:", simulation},
	}
}
