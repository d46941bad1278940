package status

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// defaultServiceAccount is the ServiceAccount of pods that name none.
const defaultServiceAccount = "default"

// adviceOnServiceAccount says what to do about a ServiceAccount that does not exist.
const adviceOnServiceAccount = "Create it, or change spec.serviceAccountName."

// missingServiceAccount returns the name of the missing ServiceAccount that makes the API server reject a pod, empty if it rejects the pod
// for another reason: k8s.io/kubernetes/plugin/pkg/admission/serviceaccount. A controller makes the one of a new namespace, default, so
// that it is not missing for long.
func missingServiceAccount(message string) string {
	_, why, found := strings.Cut(message, "error looking up service account ")
	_, why, quoted := strings.Cut(why, `serviceaccount "`)
	name, _, missing := strings.Cut(why, `" not found`)
	if !found || !quoted || !missing || name == defaultServiceAccount {
		return ""
	}
	return name
}

// serviceAccountCause returns why the API server accepts no pods of a ServiceAccount that does not exist. No event reports to Kubernetes
// that it was created.
func serviceAccountCause(d *appsv1.Deployment, name string) cause {
	return cause{reason: v1.ReasonServiceAccountNotFound, lasting: true, message: fmt.Sprintf(
		"The ServiceAccount %q does not exist. %s Then run 'kubectl rollout restart -n %s deployment/%s', or wait until Kubernetes "+
			"tries again, after at most 17 minutes.", name, adviceOnServiceAccount, d.Namespace, d.Name)}
}
