package objects

import (
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// terminationGraceSeconds covers the echo server's drain delay (5 s) and its time limit for shutting down (20 s).
const terminationGraceSeconds = 30

// podSpec returns the part of the pod spec that an Echo's pods and companions have in common: everything except the fields that determine
// where they run. The server argument is the echo server's container.
func podSpec(echo *v1.Echo, server *corev1ac.ContainerApplyConfiguration) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(terminationGraceSeconds).
		WithSecurityContext(PodSecurityContext(&echo.Spec)).
		WithContainers(server).
		WithVolumes(tlsVolumes(echo)...)
	SetIdentity(spec, &echo.Spec)
	return spec
}

// SetIdentity sets a pod's ServiceAccount and pull secrets from the Echo. The ServiceAccount's token is not mounted.
func SetIdentity(spec *corev1ac.PodSpecApplyConfiguration, given *v1.EchoSpec) {
	spec.WithAutomountServiceAccountToken(false)
	for _, secret := range given.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	if name := given.ServiceAccountName; name != "" { // sets both fields, because the API server restores each from the other
		spec.WithServiceAccountName(name).WithDeprecatedServiceAccount(name)
	}
}

// Template returns the pod template of an Echo's Deployment.
func PodTemplate(echo *v1.Echo, config Config) *corev1ac.PodTemplateSpecApplyConfiguration {
	return corev1ac.PodTemplateSpec().
		WithLabels(CommonLabels(echo)).
		WithLabels(AsLabels(echo.Spec.PodLabels)).
		WithLabels(ChildLabels(echo)).
		WithAnnotations(CommonAnnotations(echo)).
		WithAnnotations(echo.Spec.PodAnnotations).
		WithSpec(templateSpec(echo, config))
}

// templateSpec returns the pod spec of an Echo's Deployment.
func templateSpec(echo *v1.Echo, config Config) *corev1ac.PodSpecApplyConfiguration {
	desired := &echo.Spec
	spec := podSpec(echo, Container(echo, config, serviceEnvironment(echo)...)).
		WithNodeSelector(NodeSelector(desired.NodeSelector, config.Images.FirstParty(config.Images.Of(echo)))).
		WithTolerations(Tolerations(desired.Tolerations)...).
		WithTopologySpreadConstraints(spread(echo)...)
	if desired.Affinity != nil {
		spec.WithAffinity(AsConfiguration[corev1ac.AffinityApplyConfiguration](desired.Affinity))
	}
	if desired.PriorityClassName != "" {
		spec.WithPriorityClassName(desired.PriorityClassName)
	}
	return spec
}

// NodeSelector returns the labels that a node must have to run an image. The operator's own images require Linux, unless the given labels
// specify another operating system.
func NodeSelector(given v1.Labels, own bool) map[string]string {
	selector := map[string]string{}
	if own {
		selector[corev1.LabelOSStable] = "linux"
	}
	maps.Copy(selector, AsLabels(given))
	return selector
}

// Tolerations converts tolerations to apply configurations.
func Tolerations(given []corev1.Toleration) []*corev1ac.TolerationApplyConfiguration {
	var all []*corev1ac.TolerationApplyConfiguration
	for i := range given {
		all = append(all, AsConfiguration[corev1ac.TolerationApplyConfiguration](&given[i]))
	}
	return all
}

// spread returns an Echo's topology spread constraints. By default, pods are spread evenly across nodes and zones if possible.
func spread(echo *v1.Echo) []*corev1ac.TopologySpreadConstraintApplyConfiguration {
	var constraints []*corev1ac.TopologySpreadConstraintApplyConfiguration
	for i := range echo.Spec.TopologySpreadConstraints {
		constraints = append(constraints,
			AsConfiguration[corev1ac.TopologySpreadConstraintApplyConfiguration](&echo.Spec.TopologySpreadConstraints[i]))
	}
	if len(constraints) > 0 {
		return constraints
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		constraints = append(constraints, corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(key).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(SelectorLabels(echo))))
	}
	return constraints
}

// ProgressDeadline is how long a rollout may go without progress, or pods may be missing, before the Echo becomes degraded.
const ProgressDeadline = 10 * time.Minute

// deployment returns the Deployment that runs an Echo's pods. Old pods stop only after new ones are ready, so that no requests are lost.
func deployment(echo *v1.Echo, config Config) any {
	return appsv1ac.Deployment(echo.Name, echo.Namespace).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(echo.Spec.DesiredReplicas()).
			WithProgressDeadlineSeconds(int32(ProgressDeadline.Seconds())).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(SelectorLabels(echo))).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromString("25%")))).
			WithTemplate(PodTemplate(echo, config)))
}
