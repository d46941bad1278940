package mutants

import "slices"

// mutant is a bug that a test must catch.
type mutant struct {
	name string
	// in is the function, method, or constant that contains the bug. old is text in that declaration, and new is the text with the bug.
	in, old, new string
	// by is a pattern for the test that must catch the mutant, and of is a pattern for the test's packages.
	by, of string
}

const (
	simulation = "./tests/reliability"
	reconciler = "./controllers/..."
	builders   = "./internal/..."
)

func mutants() []mutant { return slices.Concat(textbook(), found(), own()) }

// textbook returns the most common bugs in operators.
func textbook() []mutant {
	return []mutant{
		{"the finalizer is removed while objects are left", "reconcileDelete",
			"case left.any():", "case left.any() && echo.Generation < 0:", "TestScenarios", simulation},
		{"an error is swallowed", "ensure",
			"after, err := applyChild(ctx, w.client, c, live)\n\tif err != nil {\n\t\treturn nil, err",
			"after, err := applyChild(ctx, w.client, c, live)\n\tif err != nil {\n\t\treturn nil, nil", "TestSingleFaults/plans/^a_child_deleted:_5", simulation},
		{"a conflict is final", "Classify",
			"case apierrors.IsForbidden(err):",
			"case apierrors.IsConflict(err):\n\t\treturn &Failure{Err: err, NoRetry: true}\n\tcase apierrors.IsForbidden(err):",
			"TestSingleFaults/plans/^create:", simulation},
		{"an Echo is written even if it has changed", "patch",
			"patch.Metadata.ResourceVersion = echo.ResourceVersion", "patch.Metadata.ResourceVersion = \"\"", "TestPublish_rejectsOutdatedEcho",
			reconciler},
		{"a CronJob is created before the status reports it", "converge",
			"!status.AllChecksNamed(echo)", "len(echo.Name) == 0", "TestCheckReconciler_namesCheckBeforeCreatingCronJob", reconciler},
		{"the cache is trusted for CronJobs", "prune",
			"readChild(ctx, r.Live, objects.CronJob", "readChild(ctx, r.Client, objects.CronJob",
			"TestPrune_deletesCronJobMissingFromCache", reconciler},
		{"objects of other clients are taken over", "readLive",
			"object == nil || metav1.IsControlledBy(object, echo) {", "object == nil || !metav1.IsControlledBy(object, echo) {", "TestScenarios",
			simulation},
		{"the cache is trusted", "readOwned",
			"readLive(ctx, d.Live, echo, c)", "readLive(ctx, cached, echo, c)", "TestScenarios", simulation},
	}
}

// found returns bugs that a search has found in this operator.
func found() []mutant {
	return []mutant{
		{"a status that another client edits stays", "SetupWithManager",
			"builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})", "builder.WithPredicates(echoChanged())",
			"TestScenarios", simulation},
		{"an item that is added to an atomic map is not seen", "isSame",
			"return value.Equals(value.NewValueInterface(desired), value.NewValueInterface(live))", "return size(live) >= size(desired)",
			"TestScenarios", simulation},
		{"a field that is no longer desired is not seen", "compare",
			"case wanted != 1 || copies > 1:", "case wanted == 0:\n\t\t\treached--\n\t\tcase copies > 1:", "TestCompare", builders},
		{"a field that another client took over is not seen", "compare",
			"reached == size(desired)", "reached <= size(desired)", "Test", builders},
		{"an empty list is not applied", "noEgress",
			`policy.Desired.Object["spec"].(map[string]any)["egress"] = []any{}`, "_ = policy", "TestScenarios", simulation},
		{"an edited merge key is not corrected", "addRenamed",
			"isRenamed(path, keys, want, item, current)", "isRenamed(path, keys, want, item, current) && false", "TestScenarios", simulation},
		{"another client's port keeps the name of a desired port", "isRenamed",
			`return named && now["name"] != name`, "return named && now == nil",
			"TestScenarios", simulation},
		{"every 422 is the user's fault", "Classify",
			"Err: err, Reason: v1.ReasonInvalidSpec}", "Err: err, Reason: v1.ReasonInvalidSpec, NoRetry: true}",
			"TestSingleFaults/plans/^create:", simulation},
		{"a deletion that fails is not reported", "reconcileDelete",
			"status.EvaluateDeletion(echo, seen, failure, r.Now())", "status.EvaluateDeletion(echo, seen, nil, r.Now())", "Test", reconciler},
		{"conflicts are retried at a fixed rate", "tolerate",
			"max(firstRetry, lasts)", "firstRetry", "TestFailures_slowsRetriesOfConflict", reconciler},
		{"the pull policy of an image is left to the API server", "container",
			"WithImagePullPolicy(pullPolicy(echo.Spec.ImagePullPolicy, image))", "WithImagePullPolicy(echo.Spec.ImagePullPolicy)", "Test",
			builders},
		{"the class of an Ingress is not unset", "Compare",
			"Replace: c.Recreate != nil && c.Recreate(", "Replace: false && c.Recreate != nil && c.Recreate(",
			"TestCompare_replacesIngressOfAnotherClass", builders},
		{"an Echo waits for pods that no one deletes", "orphanedAfter",
			"const orphanedAfter = time.Minute", "const orphanedAfter = 1000 * time.Hour", "TestScenarios", simulation},
		{"the numbers of a deleted object are reported", "withChildren",
			"seen.NoDeployment = seen.NoDeployment || c.child.Kind == \"Deployment\" && c.absent", "_ = c.absent", "Test", reconciler},
		{"a quantity that the API server rounds is applied in each reconcile", "roundUp",
			"quantity.RoundUp(resource.Milli)", "_ = quantity", "TestDeployment_roundsUpQuantities", builders},
		{"a failure is reported at once", "Tolerance",
			"const Tolerance = 2 * time.Second", "const Tolerance = 0 * time.Second", "TestSingleFaults/plans/^create:", simulation},
		{"a reconcile starts before the cache holds the operator's own writes", "wait",
			"if !write.isIn(held) {", "if false && !write.isIn(held) {", "TestReconcile_waitsUntilCacheHoldsOwnWrite", reconciler},
		{"a reconcile waits for an object that is gone", "isIn",
			"return !e.created", "return false", "Test", reconciler},
		{"a response of 404 ends the retries", "Classify",
			"case apierrors.IsForbidden(err):",
			"case apierrors.IsNotFound(err):\n\t\treturn &Failure{Err: err, NoRetry: true}\n\tcase apierrors.IsForbidden(err):",
			"TestSingleFaults/plans/^create:", simulation},
	}
}

// own returns bugs that no search has found yet.
func own() []mutant {
	return []mutant{
		{"a cause waits until events are gathered", "affectsOnlyCounts",
			"return !status.HasNewCause(objects.PodOf(cmp.Or(old, &corev1.Pod{})), objects.PodOf(pod))", "return cmp.Or(old, pod) != nil", "Test", reconciler},
		{"a field that another client keeps changing is corrected without a pause", "wait",
			"c.count < 2", "c.count < 1000", "TestConverge_correctsContestedFieldLessOften", reconciler},
		{"a new child is merged into an existing object", "applyChild",
			"uid, version := types.UID(\"\"), noVersion", "uid, version := types.UID(\"\"), \"\"", "TestScenarios", simulation},
		{"a child is applied to an object that took its place", "applyChild",
			"uid, version = live.GetUID(), \"\"", "uid, version = \"\", \"\"", "Test", reconciler},
		{"a new child is forced", "applyChild",
			"options := []client.PatchOption{client.FieldOwner(objects.FieldOwner)}",
			"options := []client.PatchOption{client.FieldOwner(objects.FieldOwner), client.ForceOwnership}", "Test", reconciler},
		{"the children of a deleted Echo are looked up only in the cache", "leftoversOf",
			"r.Live, echo, desired, readLive, client.MatchingLabels(objects.InstanceLabels(echo))",
			"r.Client, echo, desired, readControlled, cachedPodsOf(echo)", "Test", reconciler},
		{"an object that is no longer desired is kept", "ensure",
			"return nil, deleteChild(ctx, w.client, live, metav1.DeletePropagationBackground)\n\t}\n\tif live", "return nil, nil\n\t}\n\tif live", "TestScenarios", simulation},
		{"companions are left when their Echo is deleted", "deleteRemaining",
			"for _, companion := range left.companions {", "for _, companion := range left.companions[:0] {", "Test", reconciler},
		{"no one checks whether the pods are gone", "reconcileDelete",
			"return nextDeletionCheck(r.Now().Sub(echo.DeletionTimestamp.Time)), r.classify(echo, unwritten)",
			"return 0, r.classify(echo, unwritten)", "Test", reconciler},
		{"events are sent before the status is written", "publish",
			"if err := r.echoWriter(echo).setStatus(",
			"r.SendEvents(ctx, echo, report.Transitions...)\n\tif err := r.echoWriter(echo).setStatus(", "TestSingleFaults/plans/^create:",
			simulation},
		{"an object is deleted even if it was replaced", "deleteChild",
			"client.Preconditions{UID: &uid, ResourceVersion: &version})", "client.GracePeriodSeconds(int64(len(uid)+len(version))))",
			"TestSingleFaults/plans/prune:_the_object_replaced", simulation},
		{"failures are not retried", "resultOf",
			"return ctrl.Result{}, failure.Err", "return ctrl.Result{}, nil", "TestSingleFaults/plans/^create:", simulation},
	}
}
