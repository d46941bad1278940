package objects

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// caVolume is the name of the volume that contains the certificates that a check trusts. caFolder is the directory where the volume is
// mounted, and caFile is the name of the file in that directory.
const caVolume, caFolder, caFile = "ca", "/etc/pathcheck", "ca.crt"

// checkPod returns the spec of a check's pods, which meet the restricted Pod Security Standard. They have the same identity and placement
// as the echo pods, so that any cluster policy that admits the echo pods also admits them.
func checkPod(echo *v1.Echo, check *v1.EchoCheck, url string, images Images) *corev1ac.PodSpecApplyConfiguration {
	container := corev1ac.Container().
		WithName(CheckContainer).
		WithImage(images.PathCheck).
		WithImagePullPolicy(PullPolicy("", images.PathCheck)).
		WithArgs(checkArguments(echo, check, url)...).
		WithTerminationMessagePath(corev1.TerminationMessagePathDefault).
		WithTerminationMessagePolicy(corev1.TerminationMessageReadFile).
		WithResources(checkResources(echo.Spec.Resources)).
		WithSecurityContext(ContainerSecurity(nil, true))
	spec := corev1ac.PodSpec().
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithActiveDeadlineSeconds(int64(CheckDeadline(check)/time.Second) + checkGraceSeconds).
		WithEnableServiceLinks(false).
		WithSecurityContext(PodSecurityContext(&v1.EchoSpec{Port: FirstUnprivilegedPort}))
	SetIdentity(spec, &echo.Spec)
	place(spec, &echo.Spec)
	if check.CAConfigMap != "" {
		container.WithVolumeMounts(corev1ac.VolumeMount().WithName(caVolume).WithMountPath(caFolder).WithReadOnly(true))
		spec.WithVolumes(corev1ac.Volume().WithName(caVolume).
			WithConfigMap(
				corev1ac.ConfigMapVolumeSource().WithName(check.CAConfigMap).WithItems(corev1ac.KeyToPath().WithKey(caFile).WithPath(caFile))))
	}
	return spec.WithContainers(container)
}

// place restricts a check's pods to nodes where the echo servers may run. It ignores pod affinity and topology spread, which make sense
// only for several pods.
func place(spec *corev1ac.PodSpecApplyConfiguration, given *v1.EchoSpec) {
	spec.WithNodeSelector(NodeSelector(given.NodeSelector, true)).WithTolerations(Tolerations(given.Tolerations)...)
	if given.Affinity != nil && given.Affinity.NodeAffinity != nil {
		spec.WithAffinity(corev1ac.Affinity().WithNodeAffinity(
			AsConfiguration[corev1ac.NodeAffinityApplyConfiguration](given.Affinity.NodeAffinity)))
	}
	if given.PriorityClassName != "" {
		spec.WithPriorityClassName(given.PriorityClassName)
	}
}

// checkResources returns the resources for a run, which sends and receives up to 64 MiB. The resources include the Echo's CPU limit,
// because a quota for CPU limits requires every pod to set one.
func checkResources(given *corev1.ResourceRequirements) *corev1ac.ResourceRequirementsApplyConfiguration {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}
	if given == nil {
		return corev1ac.ResourceRequirements().WithRequests(requests).WithLimits(limits)
	}
	if limit, found := given.Limits[corev1.ResourceCPU]; found {
		limit = limit.DeepCopy()
		limit.RoundUp(resource.Milli) // as the API server does when it stores the limit
		limits[corev1.ResourceCPU] = limit
		if limit.Cmp(requests[corev1.ResourceCPU]) < 0 {
			requests[corev1.ResourceCPU] = limit
		}
	}
	return corev1ac.ResourceRequirements().WithRequests(requests).WithLimits(limits)
}
