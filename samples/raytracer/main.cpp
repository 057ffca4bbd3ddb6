// A picture of spheres over a floor; shapes are a variant of the kernel language, built here with its generated constructors. With a file
// name as argument the picture is written there as a portable pixmap.
#include <fstream>

#include "common/sample.hpp"
#include "raytracer.sarek.hpp"

int main(int argc, char** argv) {
  using raytracer::Shape;
  using raytracer::Thing;
  constexpr int width = 160, height = 120;
  const std::vector<Thing> things = {
      Thing{Shape::ground(0.0f), 0.8f, 0.8f, 0.7f, 0.1f},
      Thing{Shape::sphere(0.0f, 1.0f, 1.0f, 1.0f), 0.9f, 0.2f, 0.2f, 0.3f},
      Thing{Shape::sphere(-1.6f, 0.6f, 0.2f, 0.6f), 0.2f, 0.4f, 0.9f, 0.5f},
      Thing{Shape::sphere(1.5f, 0.5f, -0.3f, 0.5f), 0.3f, 0.8f, 0.3f, 0.2f},
      Thing{Shape::nothing(), 0.0f, 0.0f, 0.0f, 0.0f},
  };
  std::vector<std::uint32_t> picture;
  const int status = sample::compare_devices("raytracer", [&](const sarek::Device& device) {
    const raytracer::Kernels kernels(device);
    const sarek::Vector<Thing> scene(device, things);
    sarek::Vector<std::uint32_t> image(device, width * height);
    kernels.render({sarek::ceil_div(width, 16), sarek::ceil_div(height, 16)}, width, height, scene, image);
    if (picture.empty()) picture = image.to_host();
    sample::Results results;
    results.add(image);
    return results;
  });
  if (argc > 1) {
    std::ofstream file(argv[1], std::ios::binary);
    file << "P6\n" << width << " " << height << "\n255\n";
    for (const std::uint32_t pixel : picture)
      file.put(static_cast<char>(pixel)).put(static_cast<char>(pixel >> 8)).put(static_cast<char>(pixel >> 16));
    if (!file) return 1;
  }
  return status;
}
