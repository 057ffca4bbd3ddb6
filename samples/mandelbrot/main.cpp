// A picture of the Mandelbrot set. With a file name as argument the picture is written there as a portable pixmap.
#include <fstream>

#include "common/sample.hpp"
#include "mandelbrot.sarek.hpp"

int main(int argc, char** argv) {
  constexpr int width = 320, height = 240;
  std::vector<std::uint32_t> picture;
  const int status = sample::compare_devices("mandelbrot", [&](const sarek::Device& device) {
    const mandelbrot::Kernels kernels(device);
    sarek::Vector<std::uint32_t> image(device, width * height);
    kernels.mandelbrot({sarek::ceil_div(width, 32), sarek::ceil_div(height, 8)}, width, height, -2.2f, -1.2f, 3.2f / width, 200, image);
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
