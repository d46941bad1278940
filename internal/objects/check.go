package objects

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

const (
	checkNameValue      = "echo-check"
	checkComponentValue = "check"

	// CheckContainer is the name of the container in the pods that run checks.
	CheckContainer = "check"

	cronJobKind = "CronJob"
	// maxCronJobName is the maximum length of a CronJob name. It leaves room for the suffixes of Job and pod names
	// (k8s.io/kubernetes/pkg/apis/batch/validation).
	maxCronJobName = 52
	// defaultDeadlineSeconds is the documented default of deadlineSeconds.
	defaultDeadlineSeconds = 120
	// checkGraceSeconds is how many seconds after a check's deadline the kubelet terminates the check's pod. The Job has no deadline, because
	// Kubernetes would delete the pod, and the verdict with it, at that deadline. The operator stops waiting for a verdict before the kubelet
	// terminates the pod, because the kubelet's message about the termination hides earlier messages.
	checkGraceSeconds = 120
	// checkStartSeconds is how many seconds late a run may start. Without this limit, Kubernetes would later start a run that was missed while
	// the CronJob was suspended or no controller was running.
	checkStartSeconds = 60
)

// Check returns a check's CronJob as a child. Desired is nil if the URL is unknown. service is the Echo's live Service, if any.
func Check(echo *v1.Echo, check *v1.EchoCheck, service *corev1.Service, images Images, proxies httpproxy.Config) (Child, error) {
	child := CronJob(echo, check.Name)
	url := CheckURL(echo, check)
	if url == "" {
		return child, nil
	}
	labels := merged(InstanceLabels(echo), map[string]string{ // the selectors of the Echo's Service and Deployment do not match these labels
		LabelName:      checkNameValue,
		LabelComponent: checkComponentValue,
		v1.CheckLabel:  check.Name,
	})
	pod := checkPod(echo, check, checkArguments(echo, check, service, url), images)
	if proxy, _ := CheckProxy(echo, check, proxies); proxy != "" {
		scheme, _, _ := strings.Cut(url, ":")
		pod.Containers[0].WithEnv(corev1ac.EnvVar().WithName(strings.ToUpper(scheme) + "_PROXY").WithValue(proxy))
	}
	text, err := json.Marshal(pod)
	if err != nil {
		return child, fmt.Errorf("writing %T: %w", pod, err)
	}
	job := batchv1ac.JobSpec().
		WithBackoffLimit(0).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(commonLabels(echo)).
			WithLabels(labels).
			WithAnnotations(commonAnnotations(echo)).
			WithAnnotations(map[string]string{v1.AppliedHashAnnotation: shortDigest(text)}).
			WithSpec(pod))
	configuration := batchv1ac.CronJob(child.Key.Name, child.Key.Namespace).WithSpec(batchv1ac.CronJobSpec().
		WithSchedule(check.Schedule).
		WithConcurrencyPolicy(batchv1.ForbidConcurrent).
		WithStartingDeadlineSeconds(checkStartSeconds).
		WithSuspend(echo.Spec.DesiredReplicas() == 0).
		WithSuccessfulJobsHistoryLimit(1).
		WithFailedJobsHistoryLimit(1).
		WithJobTemplate(batchv1ac.JobTemplateSpec().
			WithLabels(commonLabels(echo)).
			WithLabels(labels).
			WithAnnotations(commonAnnotations(echo)).
			WithSpec(job)))
	child.Desired, err = withMetadata(configuration, echo, labels, childOwnerReference(echo))
	return child, err
}

// caVolume is the name of the volume that contains the certificates that a check trusts. caFolder is the directory where the volume is
// mounted, and caFile is the name of the file in that directory.
const caVolume, caFolder, caFile = "ca", "/etc/pathcheck", "ca.crt"

// checkPod returns the spec of a check's pods, which meet the restricted Pod Security Standard. They have the same identity and placement
// as the echo pods, so that any cluster policy that admits the echo pods also admits them.
func checkPod(echo *v1.Echo, check *v1.EchoCheck, arguments []string, images Images) *corev1ac.PodSpecApplyConfiguration {
	given := &echo.Spec
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")} // a run sends and receives up to 64 MiB
	ofServers := cmp.Or(given.Resources, &corev1.ResourceRequirements{})
	if limit, found := ofServers.Limits[corev1.ResourceCPU]; found { // a quota for CPU limits requires every pod to set one
		limit = limit.DeepCopy()
		limit.RoundUp(resource.Milli) // as the API server does when it stores the limit
		limits[corev1.ResourceCPU] = limit
		if limit.Cmp(requests[corev1.ResourceCPU]) < 0 {
			requests[corev1.ResourceCPU] = limit
		}
	}
	container := corev1ac.Container().
		WithName(CheckContainer).
		WithImage(images.PathCheck).
		WithImagePullPolicy(pullPolicy("", images.PathCheck)).
		WithArgs(arguments...).
		WithTerminationMessagePath(corev1.TerminationMessagePathDefault).
		WithTerminationMessagePolicy(corev1.TerminationMessageReadFile).
		WithResources(corev1ac.ResourceRequirements().WithRequests(requests).WithLimits(limits)).
		WithSecurityContext(containerSecurity(nil, true))
	spec := corev1ac.PodSpec().
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithActiveDeadlineSeconds(int64(CheckDeadline(check)/time.Second) + checkGraceSeconds).
		WithEnableServiceLinks(false).
		WithSecurityContext(podSecurityContext(&v1.EchoSpec{Port: firstUnprivilegedPort})).
		WithNodeSelector(nodeSelector(given.NodeSelector, true)).
		WithTolerations(asConfigurations[corev1ac.TolerationApplyConfiguration](given.Tolerations)...)
	setIdentity(spec, given)
	// Pod affinity and topology spread make sense only for several pods.
	if given.Affinity != nil && given.Affinity.NodeAffinity != nil {
		spec.WithAffinity(corev1ac.Affinity().WithNodeAffinity(
			asConfiguration[corev1ac.NodeAffinityApplyConfiguration](given.Affinity.NodeAffinity)))
	}
	setIfGiven(spec.WithPriorityClassName, given.PriorityClassName)
	if check.CAConfigMap != "" {
		container.WithVolumeMounts(corev1ac.VolumeMount().WithName(caVolume).WithMountPath(caFolder).WithReadOnly(true))
		spec.WithVolumes(corev1ac.Volume().WithName(caVolume).
			WithConfigMap(
				corev1ac.ConfigMapVolumeSource().WithName(check.CAConfigMap).WithItems(corev1ac.KeyToPath().WithKey(caFile).WithPath(caFile))))
	}
	return spec.WithContainers(container)
}

func checkArguments(echo *v1.Echo, check *v1.EchoCheck, service *corev1.Service, url string) []string {
	arguments := []string{
		"--verdict-file=" + corev1.TerminationMessagePathDefault,
		"--name=" + echo.Namespace + "/" + echo.Name,
		"--deadline=" + strconv.Itoa(int(CheckDeadline(check)/time.Second)) + "s",
	}
	if service == nil || service.Spec.InternalTrafficPolicy == nil ||
		*service.Spec.InternalTrafficPolicy != corev1.ServiceInternalTrafficPolicyLocal {
		arguments = append(arguments, "--own-service="+URL(echo))
	} // with Local, the Service might respond on other nodes, but not on the node where the check runs
	if check.Address != "" {
		arguments = append(arguments, "--address="+check.Address)
	}
	if len(check.Groups) > 0 {
		arguments = append(arguments, "--groups="+strings.Join(check.Groups, ","))
	}
	if check.CAConfigMap != "" {
		arguments = append(arguments, "--ca-file="+caFolder+"/"+caFile)
	}
	for _, each := range check.Expect {
		arguments = append(arguments, "--expect="+verdict.Expectation(each).String())
	}
	arguments = append(arguments, url)
	for i := range arguments {
		arguments[i] = strings.ReplaceAll(arguments[i], "$", "$$") // the kubelet replaces $$ with $, and expands variables
	}
	return arguments
}

// CronJob returns a check's CronJob as a child without a desired state.
func CronJob(echo *v1.Echo, check string) Child {
	return Child{Kind: cronJobKind, Key: client.ObjectKey{Namespace: echo.Namespace, Name: cronJobName(echo, check)}, NewObject: NewCronJob}
}

// cronJobName returns the name of a check's CronJob. It ends with a digest, because the Echo a with the check b-c must not have the same
// CronJob as the Echo a-b with the check c.
func cronJobName(echo *v1.Echo, check string) string {
	name, suffix := echo.Name+"-"+check, "-"+shortDigest([]byte(echo.Name + "/" + check))[:8]
	return strings.TrimRight(name[:min(len(name), maxCronJobName-len(suffix))], "-") + suffix
}

// CheckHash returns the digest of the pod spec for a check, or an empty string if the check has no CronJob.
func CheckHash(cronJob Child) string {
	if cronJob.Desired == nil {
		return ""
	}
	hash, _, _ := unstructured.NestedString(cronJob.Desired.Object, "spec", "jobTemplate", "spec", "template", "metadata", "annotations",
		v1.AppliedHashAnnotation)
	return hash
}

// NewCronJob returns an empty CronJob.
func NewCronJob() client.Object { return empty[batchv1.CronJob]() }

// CheckOf returns the name of the check that a pod or CronJob belongs to, or an empty string.
func CheckOf(object client.Object) string {
	if object.GetLabels()[LabelName] != checkNameValue {
		return ""
	}
	return object.GetLabels()[v1.CheckLabel]
}

// CheckURL returns the URL to which a check sends requests, or an empty string if the URL is not known yet.
func CheckURL(echo *v1.Echo, check *v1.EchoCheck) string {
	return cmp.Or(check.URL, echo.Status.ExternalURL)
}

// CheckProxy returns the URL of the forward proxy for a check, or an empty string if the check connects directly. It does so if the URL is
// private, which means that it contains more than a host and a port, such as a password, which users of the namespace could read.
func CheckProxy(echo *v1.Echo, check *v1.EchoCheck, proxies httpproxy.Config) (url string, isPrivate bool) {
	to, err := verdict.ParseURL(CheckURL(echo, check))
	if err != nil || check.Address != "" || ofCluster.MatchString(to.Hostname()) {
		return "", false
	}
	proxy, err := proxies.ProxyFunc()(to)
	if err != nil || proxy == nil {
		return "", false
	}
	if url = proxy.Scheme + "://" + proxy.Host; strings.TrimSuffix(proxy.String(), "/") != url {
		return "", true
	}
	return url, false
}

// ofCluster matches the host names of Services, to which no forward proxy leads.
var ofCluster = regexp.MustCompile(`(?i)^[^.:]+$|\.svc$|\.svc\.cluster\.local$`)

// CheckDeadline returns the maximum duration of a check's run.
func CheckDeadline(check *v1.EchoCheck) time.Duration {
	return time.Duration(cmp.Or(check.DeadlineSeconds, defaultDeadlineSeconds)) * time.Second
}
